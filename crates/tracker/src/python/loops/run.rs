//! One run of a loop: in one frame, from where it was entered to where it is left. A frame that is suspended takes its run with it.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_cpython::iterators::{Counter, Progress};
use heaplens_format::arena::marks::{ENOUGH_ITERATIONS, LoopRecord};

use super::running::Running;
use crate::sys;

/// A loop with marks is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopEnd {
    /// How often it was entered.
    pub(crate) runs: u64,
    /// When it was first seen, by the monotonic clock.
    pub(crate) first_ns: u64,
}

/// A run as it was last seen. Zero is none.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct LoopRun {
    /// The frame that it is in; 0 when the loop has begun anew since.
    pub(super) frame: u64,
    pub(super) iterator: u64,
    pub(super) count: u64,
    /// Iterations that were to come, 0 when it was seen to end; `u64::MAX` where it is not known.
    pub(super) left: u64,
    /// The object that keeps the count, read once more when it is freed; all zero afterwards.
    pub(super) counter: Counter,
    /// The stack that its iteration began with.
    pub(super) key: u64,
    pub(super) instruction: u32,
    /// The record of its loop.
    pub(super) record: u32,
    /// Whether nobody but the loop takes items from its iterator.
    pub(super) is_own: bool,
    /// Whether it is in a generator or coroutine, which others run while it waits.
    pub(super) can_suspend: bool,
    /// Whether it looks for its next item: the iteration counts once its body is seen.
    pub(super) is_seeking: bool,
    /// Whether it did so when it was last seen, be it that the iteration was counted already.
    pub(super) was_seeking: bool,
}

impl LoopRun {
    /// Whether it was left without that its end was seen, should it not come back.
    pub(super) fn is_open(&self) -> bool {
        self.left != 0 || self.counter.block != 0
    }

    /// Whether its iterator was seen to be freed.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0 && self.iterator == 0
    }

    /// Whether a loop has the very iterator that this run was last seen with, and is no further back. In another frame, or when a loop around
    /// it has begun anew, it may be the next iterator at the same address, unless its end would have been noticed.
    pub(super) fn goes_on(&self, running: &Running, progress: &Progress, is_known: bool) -> bool {
        let is_same = progress.iterator == self.iterator
            && progress.count >= self.count
            && self.count != 0
            && progress.counter.may_continue(&self.counter);
        is_same && (is_known || running.is_shared && self.counter.block != 0)
    }

    /// Whether it looked for an item when it was last seen, in the frame of a loop that does so now.
    pub(super) fn still_seeks(&self, running: &Running) -> bool {
        self.frame == running.frame && self.was_seeking && running.seeks_item
    }

    pub(super) fn see(&mut self, running: &Running) {
        let progress = running.progress.unwrap_or_default();
        self.instruction = running.instruction;
        self.frame = running.frame;
        (self.iterator, self.count) = (progress.iterator, progress.count);
        self.left = running.progress.map_or(u64::MAX, |progress| progress.left);
        self.counter = progress.counter;
        self.can_suspend = running.can_suspend;
        self.was_seeking = running.seeks_item;
    }

    /// Goes on where another run over the same iterator was: items that one of them has taken are counted once.
    pub(super) fn follow(&mut self, other: &Self) {
        let Self { iterator, count, left, counter, is_own, .. } = *other;
        *self = Self { iterator, count, left, counter, is_own, ..*self };
    }

    /// It is over, and its counter had this value at the end, if it could be read: counts the iterations that no event saw.
    pub(super) fn end(&mut self, record: &LoopRecord, last: Option<u64>) {
        let rest = last.and_then(|last| last.checked_sub(self.count)).filter(|_| self.is_own);
        let iterations = rest.and_then(|rest| self.iterations_with(record.iterations.load(Relaxed), rest));
        if let Some(iterations) = iterations {
            record.iterations.store(iterations, Relaxed);
        }
        // How long it ran: marks need not reach to its end. What is inside a loop that counts is not watched and does not come here.
        if record.iterations.load(Relaxed) >= ENOUGH_ITERATIONS {
            record.last_ns.store(sys::monotonic_ns(), Relaxed);
        }
        self.left = if iterations.is_some() { 0 } else { u64::MAX };
        (self.iterator, self.count, self.counter) = (0, 0, Counter::default());
    }

    /// All iterations, given those that were seen and how far the counter went since; `None` where that does not determine them.
    fn iterations_with(&self, seen: u64, rest: u64) -> Option<u64> {
        // A loop that reaches enough iterations only here made no marks for them, the loops inside it did: theirs stay the ones that count.
        let stays_short = seen >= ENOUGH_ITERATIONS || seen + rest < ENOUGH_ITERATIONS;
        let is_sure = rest == 0 || stays_short && !self.counter.runs_ahead;
        is_sure.then_some(seen + rest)
    }
}
