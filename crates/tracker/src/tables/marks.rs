//! Marks: who may make one, and what sites had at them (`format::arena::marks`).
//!
//! A mark is made inside an event, before that event is counted: what the event changes is after the mark. One thread at a
//! time makes one; another that comes meanwhile does without, which for an iteration of a loop costs nothing: the next one comes.
//! The recorder makes marks, too, from the outside and at any time: so a number is taken before its record is written.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::Region;
use heaplens_format::arena::marks::{MARK_SIZE, MarkRecord, MarkTag, Moment};
use heaplens_format::atomic::{AtomicBool, AtomicU64};

use super::arena::Arena;
use crate::sys;

/// Longer words of the user's are cut.
const LONGEST_LABEL: usize = 64;
/// Marks of the user's that are all kept.
const KEPT_AT_ONCE: u64 = 4096;
/// Runs of a framework that are all kept: each of them changes hundreds of sites.
const RUNS_KEPT_AT_ONCE: u64 = 128;
/// Passes of each section whose marks are all kept.
const PASSES_KEPT_AT_ONCE: u64 = 512;
/// How the marks of this process are made.
#[derive(Debug, Default)]
pub struct Marks {
    busy: AtomicBool,
    /// The user's marks so far.
    users: AtomicU64,
    /// Runs of a framework so far.
    runs: AtomicU64,
    /// Where the words of the latest mark are that was not kept; 0 while there was none.
    latest: AtomicU64,
}

/// A mark that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewMark<'a> {
    /// What it is.
    pub kind: MarkTag,
    /// The loop, or 0.
    pub of_loop: u32,
    /// Its iterations, the number of the user's mark, or what is resident.
    pub number: u64,
    /// The user's words.
    pub label: &'a [u8],
}

impl Marks {
    /// None was made yet.
    pub const fn new() -> Self {
        Self {
            busy: AtomicBool::new(false),
            users: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            latest: AtomicU64::new(0),
        }
    }

    /// In a forked child, whose arena is another.
    pub fn reset(&self) {
        self.busy.store(false, Relaxed);
        self.users.store(0, Relaxed);
        self.runs.store(0, Relaxed);
        self.latest.store(0, Relaxed);
    }

    /// Makes a mark; when, by the monotonic clock. `None`: another thread is at it, or there is no room.
    pub fn make(&self, arena: &Arena, mark: NewMark<'_>) -> Option<u64> {
        // Acquire: pairs with the Release below, so that numbers follow each other.
        if self.busy.swap(true, Acquire) {
            return None;
        }
        let made = make_alone(arena, mark);
        self.busy.store(false, Release);
        made
    }

    pub(crate) fn make_users(&self, arena: &Arena, label: &[u8]) -> Option<u64> {
        let number = self.users.fetch_add(1, Relaxed) + 1;
        let label = &label[..label.len().min(LONGEST_LABEL)];
        let mark = NewMark { kind: MarkTag::User, of_loop: 0, number, label };
        if is_kept_of(number, KEPT_AT_ONCE) { self.make(arena, mark) } else { self.note_latest(arena, mark) }
    }

    pub(crate) fn make_run(&self, arena: &Arena) {
        let number = self.runs.fetch_add(1, Relaxed) + 1;
        let mark = NewMark { kind: MarkTag::Run, of_loop: 0, number, label: &[] };
        // Where another thread runs one at the same time, its mark stands for both.
        let _ = if is_kept_of(number, RUNS_KEPT_AT_ONCE) {
            self.make(arena, mark)
        } else {
            self.note_latest(arena, mark)
        };
    }

    /// Whether the marks of a pass of a section are kept.
    pub(crate) fn is_kept(&self, pass: u32) -> bool {
        is_kept_of(pass.into(), PASSES_KEPT_AT_ONCE)
    }

    /// A mark that is not kept is at least known until the next one comes.
    fn note_latest(&self, arena: &Arena, mark: NewMark<'_>) -> Option<u64> {
        if self.busy.swap(true, Acquire) {
            return None;
        }
        let offset = match self.latest.load(Relaxed) {
            0 => arena.take(Region::Strings, LONGEST_LABEL as u64).map(|offset| offset as u64),
            offset => Some(offset),
        };
        let made = offset.map(|offset| {
            self.latest.store(offset, Relaxed);
            write(arena, 0, mark, put(arena, offset, mark.label))
        });
        self.busy.store(false, Release);
        made
    }
}

/// All of the first ones, then every second, every fourth.
fn is_kept_of(number: u64, at_once: u64) -> bool {
    let stride = (number / at_once + 1).next_power_of_two();
    number.is_multiple_of(stride)
}

fn make_alone(arena: &Arena, mark: NewMark<'_>) -> Option<u64> {
    let word = &arena.header().hot.moment;
    let next = Moment::from_raw(word.load(Relaxed)).mark() + 1;
    if next >= Moment::MOST_MARKS || !has_room(arena, next) {
        return None;
    }
    let label = match mark.label.len() {
        0 => 0,
        length => put(arena, arena.take(Region::Strings, length as u64)? as u64, mark.label),
    };
    let number = Moment::from_raw(word.fetch_add(Moment::ONE_MARK, Relaxed)).mark() + 1;
    // Another one where the recorder was faster. A record that finds no room then stays a moment without a name.
    (number == next || has_room(arena, number)).then(|| write(arena, number, mark, label))
}

fn has_room(arena: &Arena, number: u32) -> bool {
    let end = (u64::from(number) + 1) * MARK_SIZE as u64;
    end <= arena.extent(Region::Marks).capacity.load(Relaxed) && arena.ensure(Region::Marks, end)
}

/// Writes a mark down; when.
fn write(arena: &Arena, number: u32, mark: NewMark<'_>, label: u64) -> u64 {
    // SAFETY: the region reaches at least this far: `make_alone` ensured it, and record 0 is below any other.
    let record: &MarkRecord = unsafe { arena.record(Region::Marks, number as usize * MARK_SIZE) };
    record.kind.store(0, Relaxed);
    record.of_loop.store(mark.of_loop, Relaxed);
    record.number.store(mark.number, Relaxed);
    let at_ns = sys::monotonic_ns();
    record.at_ns.store(at_ns, Relaxed);
    record.live_bytes.store(arena.header().hot.live_bytes.load(Relaxed), Relaxed);
    record.label.store(label, Relaxed);
    // Release: a reader that sees the kind sees a whole record.
    record.kind.store(mark.kind as u32, Release);
    at_ns
}

/// Writes words into STRINGS; where they are.
fn put(arena: &Arena, offset: u64, label: &[u8]) -> u64 {
    let target = arena.address(Region::Strings, offset as usize) as *mut u8;
    // SAFETY: callers took at least so many bytes there.
    unsafe { core::ptr::copy_nonoverlapping(label.as_ptr(), target, label.len()) };
    offset << 32 | label.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use crate::tables::sites::{self, Tally};
    use crate::tables::slot_id::SlotId;
    use crate::tables::weight::Weight;
    use heaplens_format::arena::marks::{CHANGE_SIZE, ChangeRecord};
    use heaplens_format::{NodeId, SiteId};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// What a site had at each mark, as the recorder finds it.
    fn series(arena: &Arena, site: SiteId) -> Vec<u64> {
        let marks = Moment::from_raw(arena.header().hot.moment.load(Relaxed)).mark();
        // SAFETY: a site's own record.
        let now: &heaplens_format::arena::table::SiteRecord =
            unsafe { arena.record(Region::Sites, site.get() as usize * 64) };
        let live = now.allocated_bytes.load(Relaxed).wrapping_sub(now.freed_bytes.load(Relaxed));
        let mut values = vec![live; marks as usize];
        let mut from = 0;
        for at in (0..arena.extent(Region::Changes).used.load(Relaxed) as usize).step_by(CHANGE_SIZE) {
            // SAFETY: an entry that was taken.
            let change: &ChangeRecord = unsafe { arena.record(Region::Changes, at) };
            if change.record.load(Relaxed) == site.get() {
                let until = change.mark.load(Relaxed) as usize;
                values[from..until].fill(change.live_bytes.load(Relaxed));
                from = until;
            }
        }
        values
    }

    proptest! {
        /// The naive model copies all counters at every mark.
        #[test]
        fn the_values_at_marks_equal_those_of_full_copies(
            events in prop::collection::vec((0usize..4, 0u64..500), 1..200)
        ) {
            let arena = scratch();
            let marks = Marks::new();
            let ids: Vec<_> = (0..3).map(|n| sites::create(&arena, NodeId::new(n + 1), SlotId::new(1)).unwrap()).collect();
            let (mut live, mut copies) = (vec![0u64; 3], Vec::new());
            for (which, bytes) in events {
                if which == 3 {
                    let mark = NewMark { kind: MarkTag::Iteration, of_loop: 1, number: 1, label: &[] };
                    prop_assert!(marks.make(&arena, mark).is_some());
                    copies.push(live.clone());
                } else {
                    sites::on_alloc(&arena, ids[which], SlotId::new(1), Weight { bytes, blocks: 1 }, Tally::Heap);
                    live[which] += bytes;
                }
            }
            for (which, &id) in ids.iter().enumerate() {
                let truth: Vec<u64> = copies.iter().map(|copy| copy[which]).collect();
                prop_assert_eq!(series(&arena, id), truth);
            }
        }
    }

    #[test]
    fn of_many_runs_few_are_kept_and_the_latest_is_known() {
        let arena = scratch();
        let marks = Marks::new();
        (0..100_000).for_each(|_| marks.make_run(&arena));
        let kept = Moment::from_raw(arena.header().hot.moment.load(Relaxed)).mark();
        assert!((128..1_000).contains(&kept), "{kept}");
        // SAFETY: record 0 is there since another one was made.
        let latest: &MarkRecord = unsafe { arena.record(Region::Marks, 0) };
        assert_eq!((latest.kind.load(Relaxed), latest.number.load(Relaxed)), (MarkTag::Run as u32, 100_000));
    }

    #[test]
    fn of_many_marks_of_the_user_ever_fewer_are_kept_and_the_latest_is_known() {
        let arena = scratch();
        let marks = Marks::new();
        (0..100_000).for_each(|_| assert!(marks.make_users(&arena, b"step").is_some()));
        let kept = Moment::from_raw(arena.header().hot.moment.load(Relaxed)).mark();
        assert!((4096..30_000).contains(&kept), "{kept}");
        // SAFETY: record 0 is there since another one was made.
        let latest: &MarkRecord = unsafe { arena.record(Region::Marks, 0) };
        assert_eq!((latest.kind.load(Relaxed), latest.number.load(Relaxed)), (MarkTag::User as u32, 99_999));
    }
}
