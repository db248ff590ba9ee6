//! What a loop did between two inspections of it, and the marks that its iterations make.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_cpython::iterators::{Counter, Progress};
use heaplens_format::arena::marks::{
    ENOUGH_ITERATIONS, LOOP_COUNTED, LOOP_SHARED, LOOP_UNSURE, LoopRecord, MarkTag,
};

use super::event::Tables;
use super::records::record;
use super::running::Running;
use crate::tables::arena::Arena;
use crate::tables::marks::NewMark;

/// Marks of one loop that are made with each iteration; from then on half as often every time this many more were made.
const CLOSE_MARKS: u32 = 64;

/// A loop as it was last seen.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct LoopState {
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
    /// The object that keeps the count, read once more when it is freed; all zero afterwards.
    pub(super) counter: Counter,
    /// Whether nobody but the loop takes items from its iterator.
    pub(super) is_own: bool,
    pub(super) key: u64,
    /// When it was last seen, in inspections.
    pub(super) inspections: u32,
    pub(super) marks: u32,
    pub(super) stride: u64,
    pub(super) next_mark: u64,
}

/// What a loop did since it was last seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStep {
    /// It went on by so many iterations.
    Advanced(u64),
    /// It began anew and made so many iterations.
    Entered(u64),
}

/// What is known of the loops around the one that is inspected.
#[derive(Default)]
pub(super) struct Around {
    /// The record of the next one outwards.
    pub(super) parent: u32,
    /// Whether one of them advanced or began: then everything inside it began anew.
    pub(super) is_new: bool,
    /// The next one outwards, where it does not report its iterations and did not advance now.
    pub(super) silent: Option<usize>,
    pub(super) may_mark_silent: bool,
    /// Whether one of them made enough iterations.
    pub(super) is_enough: bool,
}

impl Around {
    pub(super) fn enter(
        &mut self,
        kept: &mut LoopState,
        at: usize,
        running: &Running,
        step: LoopStep,
        tables: Tables<'_>,
        key: u64,
    ) {
        if step != LoopStep::Advanced(0) || kept.frame != running.frame || kept.key == 0 {
            kept.key = key;
        }
        if let LoopStep::Entered(_) = step {
            // Later references change nothing: nobody gets at an iterator that only its loop has, and items that others took are gone.
            kept.is_own = !running.is_shared;
        }
        let record = kept.advance(tables.arena, step, running.progress);
        kept.see(running);
        kept.mark_if_due(tables, record, !self.is_enough);
        self.silent = (running.progress.is_none() && step == LoopStep::Advanced(0)).then_some(at);
        self.may_mark_silent = !self.is_enough;
        self.parent = kept.record;
        self.is_new |= step != LoopStep::Advanced(0);
        self.is_enough |= record.iterations.load(Relaxed) >= ENOUGH_ITERATIONS;
    }
}

/// What a loop did. `key` is given for the innermost one alone: only there a stack that comes again says something.
pub(super) fn step(kept: &LoopState, running: &Running, around_is_new: bool, key: Option<u64>) -> LoopStep {
    let is_known = kept.frame == running.frame && !around_is_new;
    match running.progress {
        Some(progress) => {
            let goes_on = is_known
                && progress.iterator == kept.iterator
                && progress.count >= kept.count
                && kept.count != 0;
            if goes_on {
                LoopStep::Advanced(progress.count - kept.count)
            } else {
                LoopStep::Entered(progress.first.max(1))
            }
        }
        None if !is_known => LoopStep::Entered(1),
        None => LoopStep::Advanced(u64::from(went_back(kept, running) || came_again(kept, running, key))),
    }
}

/// Whether the frame is further up in the loop than before, and not because of a loop inside it.
fn went_back(kept: &LoopState, running: &Running) -> bool {
    let (first, end) = running.inner;
    running.instruction < kept.instruction && !(first..end).contains(&kept.instruction)
}

fn came_again(kept: &LoopState, running: &Running, key: Option<u64>) -> bool {
    running.instruction == kept.instruction && kept.key != 0 && key == Some(kept.key)
}

impl LoopState {
    /// Whether an exception is about to leave the loop: all its iterations were reported by iterators, and now there is none.
    pub(super) fn is_left_by(&self, running: &Running, arena: &Arena) -> bool {
        let is_counted = || record(arena, self.record).flags.load(Relaxed) & LOOP_COUNTED != 0;
        running.is_left && self.frame == running.frame && is_counted()
    }

    /// Counts the iterations.
    pub(super) fn advance<'a>(
        &mut self,
        arena: &'a Arena,
        step: LoopStep,
        progress: Option<Progress>,
    ) -> &'a LoopRecord {
        let record = record(arena, self.record);
        let flags = record.flags.load(Relaxed);
        let (iterations, unsure) = match step {
            LoopStep::Advanced(iterations) => (iterations, 0),
            LoopStep::Entered(iterations) => {
                // How the previous run ended is not known, or it is not over (recursion, several generators).
                let is_open = record.left.load(Relaxed) != 0 || flags & LOOP_SHARED != 0;
                let is_open = is_open || self.counter.block != 0;
                let is_unsure = is_open || progress.is_some_and(|progress| !progress.is_whole);
                (iterations, if is_unsure { LOOP_UNSURE } else { 0 })
            }
        };
        let guessed = if progress.is_none() { LOOP_COUNTED } else { 0 };
        let shared = if self.is_own { 0 } else { LOOP_SHARED };
        record.flags.store(flags & !(guessed | LOOP_SHARED) | unsure | shared, Relaxed);
        record.iterations.store(record.iterations.load(Relaxed) + iterations, Relaxed);
        record.left.store(progress.map_or(u64::MAX, |progress| progress.left), Relaxed);
        record
    }

    pub(super) fn see(&mut self, running: &Running) {
        let progress = running.progress.unwrap_or_default();
        self.instruction = running.instruction;
        self.frame = running.frame;
        (self.iterator, self.count) = (progress.iterator, progress.count);
        self.counter = progress.counter;
        self.inspections = u32::MAX;
    }

    /// The loop is over, and its counter had this value at the end, if it could be read: counts the iterations that no event saw.
    pub(super) fn end(&mut self, arena: &Arena, last: Option<u64>) {
        let record = record(arena, self.record);
        let rest = last.and_then(|last| last.checked_sub(self.count)).filter(|_| self.is_own);
        let iterations = rest.and_then(|rest| self.iterations_with(record.iterations.load(Relaxed), rest));
        if let Some(iterations) = iterations {
            record.iterations.store(iterations, Relaxed);
        }
        record.left.store(if iterations.is_some() { 0 } else { u64::MAX }, Relaxed);
        (self.iterator, self.count, self.counter) = (0, 0, Counter::default());
    }

    /// All iterations, given those that were seen and how far the counter went since; `None` where that does not determine them.
    fn iterations_with(&self, seen: u64, rest: u64) -> Option<u64> {
        // A loop that reaches enough iterations only here made no marks for them, the loops inside it did: theirs stay the ones that count.
        let stays_short = seen >= ENOUGH_ITERATIONS || seen + rest < ENOUGH_ITERATIONS;
        let is_sure = rest == 0 || stays_short && !self.counter.runs_ahead;
        is_sure.then_some(seen + rest)
    }

    pub(super) fn mark_if_due(&mut self, tables: Tables<'_>, record: &LoopRecord, may_mark: bool) {
        let iterations = record.iterations.load(Relaxed);
        if !may_mark || iterations < self.next_mark {
            return;
        }
        let mark = NewMark { kind: MarkTag::Iteration, of_loop: self.record, number: iterations, label: &[] };
        if let Some(at_ns) = tables.marks.make(tables.arena, mark) {
            self.marks += 1;
            if self.marks.is_multiple_of(CLOSE_MARKS) {
                self.stride *= 2;
            }
            self.next_mark = iterations + self.stride;
            record.last_ns.store(at_ns, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::record_of;
    use super::*;
    use crate::tables::scratch::scratch;
    use crate::tables::slot_id::SlotId;

    /// A loop over a range of 1000, as it is when so many iterations are seen; and its record.
    fn seen(arena: &Arena, iterations: u64) -> (LoopState, &LoopRecord) {
        let running = Running::default();
        let number = record_of(arena, &running, SlotId::new(1), 0).unwrap();
        let mut kept = LoopState { record: number, is_own: true, ..LoopState::default() };
        run(arena, &mut kept, iterations);
        (kept, record(arena, number))
    }

    fn run(arena: &Arena, kept: &mut LoopState, iterations: u64) {
        let progress =
            Progress { count: iterations, is_whole: true, left: 1000 - iterations, ..Progress::default() };
        kept.advance(arena, LoopStep::Entered(iterations), Some(progress));
        let mut running = Running::default();
        running.progress = Some(progress);
        kept.see(&running);
    }

    fn reported(record: &LoopRecord) -> (u64, u64, u32) {
        (record.iterations.load(Relaxed), record.left.load(Relaxed), record.flags.load(Relaxed))
    }

    #[test]
    fn iterations_that_no_event_saw_are_reported_by_the_end_of_the_iterator() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, 53);
        assert_eq!(reported(record), (53, 947, LOOP_COUNTED), "not exact while it runs");
        kept.end(&arena, Some(60));
        assert_eq!(reported(record), (60, 0, LOOP_COUNTED));
        run(&arena, &mut kept, 40);
        kept.end(&arena, Some(40));
        assert_eq!(reported(record), (100, 0, LOOP_COUNTED), "and of the next run");
    }

    #[test]
    fn a_run_whose_end_was_not_noticed_leaves_the_count_unsure() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, 53);
        run(&arena, &mut kept, 40);
        kept.end(&arena, Some(41));
        assert_eq!(reported(record), (94, 0, LOOP_COUNTED | LOOP_UNSURE));
    }

    #[test]
    fn an_iterator_that_others_use_reports_nothing_at_its_end() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, 53);
        kept.is_own = false;
        kept.end(&arena, Some(60));
        assert_eq!(reported(record), (53, u64::MAX, LOOP_COUNTED));
    }

    #[test]
    fn the_first_iterator_of_a_zip_reports_all_iterations_only_where_it_is_not_ahead() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, 53);
        kept.counter.runs_ahead = true;
        let mut again = kept;
        kept.end(&arena, Some(53));
        assert_eq!(reported(record), (53, 0, LOOP_COUNTED));
        again.end(&arena, Some(54));
        assert_eq!(reported(record), (53, u64::MAX, LOOP_COUNTED));
    }

    /// Else it would be taken for the outermost loop, whose iterations are marked, and has no marks.
    #[test]
    fn a_loop_that_becomes_long_without_events_stays_as_it_was_seen() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, ENOUGH_ITERATIONS - 1);
        kept.end(&arena, Some(500));
        assert_eq!(reported(record), (ENOUGH_ITERATIONS - 1, u64::MAX, LOOP_COUNTED));
    }
}
