//! What a loop did between two inspections of it, and the marks that its iterations make.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_cpython::iterators::Progress;
use heaplens_format::arena::marks::{
    ENOUGH_ITERATIONS, LOOP_COUNTED, LOOP_FORGOTTEN, LOOP_SHARED, LOOP_UNSURE, LoopRecord, MarkTag,
};

use super::event::Tables;
use super::records::{flag, record};
use super::run::{LoopEnd, LoopRun};
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
    /// The run that was seen last.
    pub(super) run: LoopRun,
    /// How many others wait for their frames and have iterations to come.
    pub(super) waiting: u32,
    /// When it was last seen, in inspections.
    pub(super) inspections: u32,
    pub(super) marks: u32,
    pub(super) stride: u64,
    pub(super) next_mark: u64,
    /// The loop inside it that shows its iterations, where it does not report them.
    pub(super) shown_by: Inner,
    /// Another one that began since it advanced.
    pub(super) began_since: Inner,
}

/// A loop of a function that another loop calls: its record, and the instruction that calls it, or 0 where both are of one function.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Inner {
    pub(super) record: u32,
    pub(super) instruction: u32,
}

/// What a loop did since it was last seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStep {
    /// It went on by so many iterations.
    Advanced(u64),
    /// It began anew and made so many iterations.
    Entered(u64),
    /// It went on by so many, and Python code looks for the next item: whether there is one is not known yet.
    Seeking(u64),
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
        if step != LoopStep::Advanced(0) || kept.run.frame != running.frame || kept.run.key == 0 {
            kept.run.key = key;
        }
        let still_seeks = kept.run.is_seeking && running.seeks_item && step == LoopStep::Advanced(0);
        kept.run.is_seeking = still_seeks || matches!(step, LoopStep::Seeking(_));
        let record = kept.advance(tables.arena, step, running);
        kept.see(tables.arena, running);
        kept.mark_if_due(tables, record, !self.is_enough);
        self.silent = (running.progress.is_none() && step == LoopStep::Advanced(0)).then_some(at);
        self.may_mark_silent = !self.is_enough;
        self.parent = kept.record;
        self.is_new |= step != LoopStep::Advanced(0);
        self.is_enough |= record.iterations.load(Relaxed) >= ENOUGH_ITERATIONS;
    }
}

/// What shows that the innermost loop is at the same place again. Of others a stack that comes again says nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Again {
    /// The stack.
    pub(super) key: Option<u64>,
    /// Whether a stack came again with other variables.
    pub(super) went_around: bool,
}

/// What a loop did.
pub(super) fn step(
    arena: &Arena,
    kept: &LoopState,
    running: &Running,
    around_is_new: bool,
    again: Again,
) -> LoopStep {
    let run = &kept.run;
    // A generator goes on in the next iteration of the loop that runs it; whatever else is inside one begins anew.
    let is_known = run.frame == running.frame && (running.can_suspend || !around_is_new);
    match running.progress {
        Some(progress) if run.goes_on(running, &progress, is_known) => {
            LoopStep::Advanced(progress.count - run.count)
        }
        // It may be a run that was forgotten: how far that was is not known.
        Some(_) if kept.may_be_forgotten(arena, running) => LoopStep::Entered(1),
        Some(progress) => LoopStep::Entered(progress.first.max(1)),
        None if !is_known => LoopStep::Entered(1),
        None => {
            let is_again = came_again(run, running, again.key)
                || (around_is_new || again.went_around) && stays(run, running);
            let is_next = went_back(run, running) || is_again;
            match running.seeks_item {
                true if is_next => LoopStep::Seeking(run.is_seeking.into()),
                true => LoopStep::Advanced(0),
                false => LoopStep::Advanced(u64::from(is_next || run.is_seeking)),
            }
        }
    }
}

/// Whether the frame is at the same instruction as before.
fn stays(run: &LoopRun, running: &Running) -> bool {
    running.instruction == run.instruction
}

/// Whether the frame is further up in the loop than before, and not because of a loop inside it.
fn went_back(run: &LoopRun, running: &Running) -> bool {
    let (first, end) = running.inner;
    running.instruction < run.instruction && !(first..end).contains(&run.instruction)
}

fn came_again(run: &LoopRun, running: &Running, key: Option<u64>) -> bool {
    stays(run, running) && run.key != 0 && key == Some(run.key)
}

impl LoopState {
    /// Whether an exception is about to leave the loop: all its iterations were reported by iterators, and now there is none.
    pub(super) fn is_left_by(&self, running: &Running, arena: &Arena) -> bool {
        let record = record(arena, self.record);
        let is_counted = record.flags.load(Relaxed) & LOOP_COUNTED != 0;
        running.is_left && is_counted && record.iterations.load(Relaxed) != 0
    }

    /// Whether a run that seems to begin may be one that was forgotten while it was suspended.
    fn may_be_forgotten(&self, arena: &Arena, running: &Running) -> bool {
        let has_forgotten = record(arena, self.record).flags.load(Relaxed) & LOOP_FORGOTTEN != 0;
        let begins = |progress: Progress| progress.first <= 1 && progress.left != 0;
        has_forgotten && running.can_suspend && !running.progress.is_some_and(begins)
    }

    /// Counts the iterations.
    pub(super) fn advance<'a>(
        &mut self,
        arena: &'a Arena,
        step: LoopStep,
        running: &Running,
    ) -> &'a LoopRecord {
        if let LoopStep::Entered(_) = step {
            let is_whole = running.progress.is_none_or(|progress| progress.is_whole);
            // How the run before ended is not known, or where this one was.
            if self.run.is_open() || !is_whole || self.may_be_forgotten(arena, running) {
                self.flag(arena, LOOP_UNSURE);
            }
            let runs = &record(arena, self.record).runs;
            runs.store(runs.load(Relaxed) + 1, Relaxed);
            // Later references change nothing: nobody gets at an iterator that only its loop has, and items that others took are gone.
            self.run.is_own = !running.is_shared;
        }
        if !self.run.is_own {
            self.flag(arena, LOOP_SHARED);
        }
        let record = record(arena, self.record);
        if running.progress.is_none() {
            record.flags.store(record.flags.load(Relaxed) & !LOOP_COUNTED, Relaxed);
        }
        if step != LoopStep::Advanced(0) {
            self.began_since = Inner::default();
        }
        let (LoopStep::Advanced(iterations) | LoopStep::Entered(iterations) | LoopStep::Seeking(iterations)) =
            step;
        record.iterations.store(record.iterations.load(Relaxed) + iterations, Relaxed);
        record
    }

    /// Says something about the count, from now on.
    pub(super) fn flag(&self, arena: &Arena, flags: u32) {
        flag(arena, self.record, flags);
    }

    /// Counts an iteration that only a loop inside this one shows, which began anew. Of several in one function the second is further down, and
    /// the first further up: that shows them, too. Of those of functions that are called one counts, until another one begins twice without it.
    pub(super) fn advance_unseen(&mut self, inner: Inner, tables: Tables<'_>, may_mark: bool) {
        let is_called = inner.instruction != 0;
        if is_called && self.shown_by != inner && self.began_since != inner {
            if self.began_since == Inner::default() {
                self.began_since = inner;
            }
            return;
        }
        // When it first began anew, there, it was not known yet that it does so in each iteration. An instruction that the interpreter
        // has specialised may be another one.
        let is_first = self.shown_by == Inner::default() || self.shown_by.record == inner.record;
        let iterations = if is_called && self.shown_by != inner && is_first { 2 } else { 1 };
        (self.shown_by, self.began_since) = (inner, Inner::default());
        let record = record(tables.arena, self.record);
        record.iterations.store(record.iterations.load(Relaxed) + iterations, Relaxed);
        self.mark_if_due(tables, record, may_mark);
    }

    /// The generator that it iterates gave it so many items, and it looks for another one.
    pub(super) fn take_items(&mut self, items: u64, tables: Tables<'_>, may_mark: bool) {
        let record = record(tables.arena, self.record);
        record.iterations.store(record.iterations.load(Relaxed) + items, Relaxed);
        self.mark_if_due(tables, record, may_mark);
    }

    pub(super) fn see(&mut self, arena: &Arena, running: &Running) {
        self.run.see(running);
        self.run.record = self.record;
        self.inspections = u32::MAX;
        self.note_left(arena);
    }

    /// The iterator of the last run is about to be freed, and its counter had this value, if it could be read.
    pub(super) fn end(&mut self, arena: &Arena, last: Option<u64>) {
        self.run.end(record(arena, self.record), last);
        self.note_left(arena);
    }

    /// The same, with a mark of its last iterations where these caused no event: memory stands as it did when they ended.
    pub(super) fn end_with_mark(&mut self, tables: Tables<'_>, last: Option<u64>) {
        self.end(tables.arena, last);
        self.mark_if_due(tables, record(tables.arena, self.record), self.marks != 0);
    }

    /// What is to come, of all runs.
    pub(super) fn note_left(&self, arena: &Arena) {
        let left = self.run.left.saturating_add(self.waiting.into());
        record(arena, self.record).left.store(left, Relaxed);
    }

    /// What is known of its end, where it made enough iterations, the last of them with marks.
    pub(super) fn marked_end(&self, arena: &Arena) -> Option<LoopEnd> {
        let record = record(arena, self.record);
        let is_marked = u64::from(self.marks) >= ENOUGH_ITERATIONS
            && record.iterations.load(Relaxed) >= ENOUGH_ITERATIONS;
        is_marked
            .then(|| LoopEnd { runs: record.runs.load(Relaxed), first_ns: record.first_ns.load(Relaxed) })
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
        let mut kept = LoopState { record: number, ..LoopState::default() };
        run(arena, &mut kept, iterations);
        (kept, record(arena, number))
    }

    fn run(arena: &Arena, kept: &mut LoopState, iterations: u64) {
        let progress =
            Progress { count: iterations, is_whole: true, left: 1000 - iterations, ..Progress::default() };
        let mut running = Running::default();
        running.progress = Some(progress);
        kept.advance(arena, LoopStep::Entered(iterations), &running);
        kept.see(arena, &running);
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
        kept.run.is_own = false;
        kept.end(&arena, Some(60));
        assert_eq!(reported(record), (53, u64::MAX, LOOP_COUNTED));
    }

    #[test]
    fn the_first_iterator_of_a_zip_reports_all_iterations_only_where_it_is_not_ahead() {
        let arena = scratch();
        let (mut kept, record) = seen(&arena, 53);
        kept.run.counter.runs_ahead = true;
        let mut again = kept;
        kept.end(&arena, Some(53));
        assert_eq!(reported(record), (53, 0, LOOP_COUNTED));
        again.end(&arena, Some(54));
        assert_eq!(reported(record), (53, u64::MAX, LOOP_COUNTED));
    }

    #[test]
    fn a_loop_with_few_marks_is_not_the_main_one() {
        let arena = scratch();
        let (mut kept, _) = seen(&arena, 60);
        assert_eq!(kept.marked_end(&arena), None, "it made no marks");
        kept.marks = ENOUGH_ITERATIONS as u32;
        assert_eq!(kept.marked_end(&arena).map(|end| end.runs), Some(1));
        let (short, _) = seen(&arena, ENOUGH_ITERATIONS - 1);
        assert_eq!(short.marked_end(&arena), None);
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
