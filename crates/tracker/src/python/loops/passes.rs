//! What a loop did between two looks at it, and the marks that its passes make.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::marks::{ENOUGH_PASSES, LOOP_COUNTED, LOOP_UNSURE, LOOP_WENT_ON, Loop, MarkKind};

use super::Tables;
use super::records::record;
use super::running::Running;
use crate::arena::Arena;
use crate::marks::NewMark;
use crate::python::iterators::Progress;

/// Marks of one loop that are made with each pass; from then on half as often every time this many more were made.
const CLOSE_MARKS: u32 = 64;

/// A loop as it was last seen.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Kept {
    /// Its record in LOOPS; 0 for an empty entry.
    pub(super) record: u32,
    /// That of the loop around it.
    pub(super) parent: u32,
    pub(super) code: u32,
    pub(super) first: u32,
    pub(super) instruction: u32,
    /// The frame that it ran in; 0 when it has begun anew since.
    pub(super) frame: u64,
    pub(super) iterator: u64,
    pub(super) count: u64,
    pub(super) key: u64,
    /// When it was last seen, in looks.
    pub(super) looks: u32,
    pub(super) marks: u32,
    pub(super) stride: u64,
    pub(super) next_mark: u64,
}

/// What a loop did since it was last seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It went on by so many passes.
    Passed(u64),
    /// It began anew and made so many passes.
    Entered(u64),
}

/// What is known of the loops around the one that is looked at.
#[derive(Default)]
pub(super) struct Around {
    /// The record of the next one outwards.
    pub(super) parent: u32,
    /// Whether one of them passed or began: then everything inside it began anew.
    pub(super) is_new: bool,
    /// The next one outwards, where it does not tell its passes and did not pass now.
    pub(super) silent: Option<usize>,
    pub(super) may_mark_silent: bool,
    /// Whether one of them made enough passes.
    pub(super) is_enough: bool,
}

impl Around {
    pub(super) fn enter(
        &mut self,
        kept: &mut Kept,
        at: usize,
        running: &Running,
        step: Step,
        tables: Tables<'_>,
        key: u64,
    ) {
        if step != Step::Passed(0) || kept.frame != running.frame || kept.key == 0 {
            kept.key = key;
        }
        let record = kept.advance(tables.arena, step, running.progress);
        kept.see(running);
        kept.mark_if_due(tables, record, !self.is_enough);
        self.silent = (running.progress.is_none() && step == Step::Passed(0)).then_some(at);
        self.may_mark_silent = !self.is_enough;
        self.parent = kept.record;
        self.is_new |= step != Step::Passed(0);
        self.is_enough |= record.passes.load(Relaxed) >= ENOUGH_PASSES;
    }
}

/// What a loop did. `key` is given for the innermost one alone: only there a stack that comes again says something.
pub(super) fn step(kept: &Kept, running: &Running, around_is_new: bool, key: Option<u64>) -> Step {
    let is_known = kept.frame == running.frame && !around_is_new;
    match running.progress {
        Some(progress) => {
            let goes_on = is_known
                && progress.iterator == kept.iterator
                && progress.count >= kept.count
                && kept.count != 0;
            if goes_on {
                Step::Passed(progress.count - kept.count)
            } else {
                Step::Entered(progress.first.max(1))
            }
        }
        None if !is_known => Step::Entered(1),
        None => Step::Passed(u64::from(went_back(kept, running) || came_again(kept, running, key))),
    }
}

/// Whether the frame is further up in the loop than before, and not because of a loop inside it.
fn went_back(kept: &Kept, running: &Running) -> bool {
    let (first, end) = running.inner;
    running.instruction < kept.instruction && !(first..end).contains(&kept.instruction)
}

fn came_again(kept: &Kept, running: &Running, key: Option<u64>) -> bool {
    running.instruction == kept.instruction && kept.key != 0 && key == Some(kept.key)
}

impl Kept {
    /// Counts the passes.
    pub(super) fn advance<'a>(
        &mut self,
        arena: &'a Arena,
        step: Step,
        progress: Option<Progress>,
    ) -> &'a Loop {
        let record = record(arena, self.record);
        let passes = match step {
            Step::Passed(passes) => passes,
            Step::Entered(passes) => {
                let ended_early = record.left.load(Relaxed) != 0 && record.unseen.load(Relaxed) != 0;
                if ended_early || progress.is_some_and(|progress| !progress.is_whole) {
                    record.flags.store(record.flags.load(Relaxed) | LOOP_UNSURE, Relaxed);
                }
                passes
            }
        };
        let told = if progress.is_none() { LOOP_COUNTED } else { 0 };
        record.flags.store(record.flags.load(Relaxed) & !(told | LOOP_WENT_ON), Relaxed);
        record.passes.store(record.passes.load(Relaxed) + passes, Relaxed);
        record.unseen.store(record.unseen.load(Relaxed) + passes.saturating_sub(1), Relaxed);
        record.left.store(progress.map_or(u64::MAX, |progress| progress.left), Relaxed);
        record
    }

    pub(super) fn see(&mut self, running: &Running) {
        let progress = running.progress.unwrap_or_default();
        self.instruction = running.instruction;
        self.frame = running.frame;
        (self.iterator, self.count) = (progress.iterator, progress.count);
        self.looks = u32::MAX;
    }

    pub(super) fn mark_if_due(&mut self, tables: Tables<'_>, record: &Loop, may_mark: bool) {
        let passes = record.passes.load(Relaxed);
        if !may_mark || passes < self.next_mark {
            return;
        }
        let mark = NewMark { kind: MarkKind::Pass, of_loop: self.record, pass: passes, label: &[] };
        if let Some(at_ns) = tables.marks.make(tables.arena, mark) {
            self.marks += 1;
            if self.marks.is_multiple_of(CLOSE_MARKS) {
                self.stride *= 2;
            }
            self.next_mark = passes + self.stride;
            record.last_ns.store(at_ns, Relaxed);
        }
    }
}
