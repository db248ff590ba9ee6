//! The loops of one thread, and when they are inspected.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_cpython::iterators::Counter;
use heaplens_format::Addr;
use heaplens_format::arena::marks::{LOOP_FORGOTTEN, LOOP_UNSURE};

use super::event::{Event, Tables};
use super::iterations::{Again, Around, Inner, LoopState, LoopStep, step};
use super::pause::{Pause, Settled};
use super::records::{adopt, flag, parent_of, record, record_of};
use super::run::{LoopEnd, LoopRun};
use super::running::{DEEPEST, LoopStack, Running, WatchedFrame};
use super::suspended::SuspendedRuns;
use crate::modules::interpreter::{Known, Thread};
use crate::modules::memory::Checked;
use crate::objects::samples::Samples;
use crate::python::codes::Codes;
use crate::tables::arena::Arena;
use crate::tables::slot_id::SlotId;

/// Loops that a thread keeps in mind.
const KEPT: usize = 64;
/// Events after which all loops are inspected, whatever the innermost one does.
const INSPECT_EVERY: u32 = 64;

/// The loops of one thread. Zero pages are an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Loops {
    watched: WatchedPosition,
    pause: Pause,
    events: u32,
    kept: [LoopState; KEPT],
    suspended: SuspendedRuns,
}

/// A loop that looks for its next item, as it did when it was last seen.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its entry.
    index: usize,
    may_mark: bool,
}

/// What must change before anything can have advanced.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct WatchedPosition {
    /// The innermost frame whose code has loops; zero where there is none.
    frame: WatchedFrame,
    /// Where it is.
    instruction: u32,
    /// Whether the innermost loop reports its iterations.
    reports: bool,
    /// Whether there is one and it does not: then the variables of its frame show whether it went around.
    compares_variables: bool,
    /// The stack that its iteration began with.
    key: u64,
    /// A stack that was seen at this instruction, and how many were there: it is taken anew after one, two, four of them, so that
    /// whatever comes again is found (Brent's search for cycles).
    key_here: u64,
    /// The variables of the frame at that time, where they are compared.
    variables_here: u64,
    seen_here: u32,
    /// Whether that stack came again with other variables: the frame went around its loop meanwhile, whatever the iteration began with.
    went_around: bool,
}

impl Loops {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.watched = WatchedPosition::default();
        self.pause = Pause::default();
        self.kept.fill(LoopState::default());
        self.suspended.clear();
    }

    /// Bytes that are touched by any use.
    pub const ALWAYS_RESIDENT: usize = size_of::<Self>() - size_of::<SuspendedRuns>();

    /// Of the others those that were touched since this was last asked.
    pub fn newly_resident(&mut self) -> u64 {
        self.suspended.newly_resident()
    }

    /// An event of the thread.
    #[inline]
    pub fn on_event(&mut self, event: Event<'_>, codes: &mut Codes, tables: Tables<'_>) {
        if event.loop_frame | self.watched.frame.frame == 0 || self.pause.lasts() {
            return;
        }
        self.events = self.events.wrapping_add(1);
        if event.loop_frame != self.watched.frame.frame
            || self.watched.has_moved(&event)
            || self.events.is_multiple_of(INSPECT_EVERY)
        {
            self.inspect(event, codes, tables);
        }
    }

    /// A watched iterator is about to be freed: its loop is over. The next loop may get the same frame and iterator addresses, so
    /// the next event inspects. Says so where it made enough iterations, and these were marked: then no loop around it did.
    #[cold]
    pub fn on_iterator_freed(
        &mut self,
        block: Addr,
        thread: Thread<'_>,
        tables: Tables<'_>,
    ) -> Option<LoopEnd> {
        let last = |counter: Counter| thread.known.types.last_count(&Checked, counter);
        let mut loops = self.kept.iter_mut();
        let of_block = |kept: &&mut LoopState| kept.record != 0 && kept.run.counter.block == block.get();
        let mut end = None;
        if let Some(kept) = loops.find(of_block) {
            kept.end_with_mark(tables, last(kept.run.counter));
            end = kept.marked_end(tables.arena);
            self.pause.end(kept.record);
            self.note_last_instruction();
            self.watched = WatchedPosition::default();
        }
        self.end_suspended(block, tables.arena, last);
        end
    }

    /// The same for loops whose frames are suspended: they are closed, or went on without any event.
    fn end_suspended(&mut self, block: Addr, arena: &Arena, last: impl Fn(Counter) -> Option<u64>) {
        let Self { kept, suspended, .. } = self;
        suspended.with_counter_in(block, |run| {
            let was_waiting = run.left != 0;
            run.end(record(arena, run.record), last(run.counter));
            if let Some(kept) = kept.iter_mut().find(|kept| kept.record == run.record)
                && was_waiting
                && run.left == 0
            {
                kept.waiting = kept.waiting.saturating_sub(1);
                kept.note_left(arena);
            }
        });
    }

    #[cold]
    #[inline(never)]
    fn inspect(&mut self, event: Event<'_>, codes: &mut Codes, tables: Tables<'_>) {
        let Event { thread, slot, key, .. } = event;
        self.note_last_instruction();
        let mut stack = LoopStack::default();
        stack.read(thread, codes, tables);
        let (mut around, mut settled) = (Around::default(), None);
        let mut waiting = [None; DEEPEST];
        let went_around =
            core::mem::take(&mut self.watched.went_around) && self.watched.frame.frame == stack.watched.frame;
        for at in 0..stack.count {
            stack.loops[at].ask(thread.known, tables);
            let running = stack.loops[at];
            let Some(index) = self.find(&running, tables.arena, slot, around.parent) else { return };
            if self.kept[index].is_left_by(&running, tables.arena) {
                break;
            }
            self.turn_to(index, &running, &stack, tables.arena);
            let kept = &self.kept[index];
            let is_innermost = at + 1 == stack.count;
            let went_around = is_innermost && went_around;
            let again = Again { key: is_innermost.then_some(key), went_around };
            let step = step(tables.arena, kept, &running, around.is_new, again);
            let waits = step == LoopStep::Advanced(0) && kept.run.still_seeks(&running);
            waiting[at] = waits.then_some(Waiting { index, may_mark: !around.is_enough });
            // A loop that began anew inside one that does not report its iterations: that one has advanced.
            if let (LoopStep::Entered(_), Some(outer), true) =
                (step, around.silent, kept.run.frame == running.frame)
            {
                let (record, outer) = (kept.record, &mut self.kept[outer]);
                let is_called = outer.run.frame != running.frame;
                let inner = Inner { record, instruction: if is_called { outer.run.instruction } else { 0 } };
                outer.advance_unseen(inner, tables, around.may_mark_silent);
            }
            if let LoopStep::Advanced(iterations @ 1..) = step {
                self.advance_consumers(iterations, &stack, (at, &waiting), thread.known, tables);
            }
            let before = self.kept[index].run.counter.block;
            around.enter(&mut self.kept[index], index, &running, step, tables, key);
            if matches!(step, LoopStep::Entered(_)) || self.kept[index].run.counter.block != before {
                self.watch_iterator(index, tables.samples);
            }
            if step != LoopStep::Advanced(0) {
                self.begin_anew_inside(around.parent, running.frame);
            }
            let recurs = stack.recurs(at);
            if recurs {
                // While an outer call is left alone, inner ones come and go unseen.
                flag(tables.arena, around.parent, LOOP_UNSURE);
            }
            if around.is_enough && running.progress.is_some() && !recurs {
                // What runs inside it makes no marks, and is not needed to know its iterations.
                settled = Some(Settled { record: self.kept[index].record, step });
                break;
            }
        }
        self.end_unnoticed(&stack, thread, tables);
        self.watch(&event, &stack);
        self.pause.begin(settled);
    }

    /// Loops that are not on the stack any more, whose iterators the interpreter kept in a free list: these still say how far they came.
    fn end_unnoticed(&mut self, stack: &LoopStack, thread: Thread<'_>, tables: Tables<'_>) {
        let types = &thread.known.types;
        if !types.has_free_lists() || stack.count == DEEPEST {
            return; // of a deeper stack the outermost loops were not read
        }
        let gone = |kept: &&mut LoopState| {
            let LoopState { code, first, ref run, .. } = **kept;
            run.counter.goes_unnoticed() && !run.can_suspend && !stack.has(code, first, run.frame)
        };
        for kept in self.kept.iter_mut().filter(gone) {
            match types.count_in_free_list(&Checked, kept.run.counter) {
                Some(last) => kept.end_with_mark(tables, Some(last)),
                None => kept.run.counter = kept.run.counter.without_object(),
            }
        }
    }

    /// The loop of a generator has advanced, and whoever iterates that generator asked it for an item before and does so now: so it took what the generator
    /// gave meanwhile. If it is a generator itself, the same holds for whoever iterates that.
    fn advance_consumers(
        &mut self,
        iterations: u64,
        stack: &LoopStack,
        (at, waiting): (usize, &[Option<Waiting>; DEEPEST]),
        known: &Known,
        tables: Tables<'_>,
    ) {
        let mut items = iterations;
        for outer in (0..at).rev() {
            let Some(Waiting { index, may_mark }) = waiting[outer] else { break };
            items *= u64::from(stack.loops[outer + 1].items_for(&stack.loops[outer], known));
            if items == 0 {
                break;
            }
            self.kept[index].take_items(items, tables, may_mark);
        }
    }

    /// The loop's entry, made where it is new in the entry of the one that was not seen for longest.
    fn find(&mut self, running: &Running, arena: &Arena, slot: SlotId, parent: u32) -> Option<usize> {
        if let Some(at) = self.position_of(running) {
            if self.kept[at].parent == 0 && adopt(arena, self.kept[at].record, parent) {
                self.kept[at].parent = parent;
            }
            return Some(at);
        }
        let number = record_of(arena, running, slot, parent)?;
        let at = (0..KEPT).min_by_key(|&at| self.kept[at].inspections)?;
        let parent = parent_of(arena, number);
        self.make_room(at, arena);
        let waiting = self.suspended.unfinished(number);
        // Where it was seen before, what was to come then may have come since.
        let left = record(arena, number).left.load(Relaxed).saturating_sub(waiting.into());
        self.kept[at] = LoopState {
            record: number,
            parent,
            code: running.code,
            first: running.first,
            run: LoopRun { left, ..LoopRun::default() },
            waiting,
            stride: 1,
            ..LoopState::default()
        };
        Some(at)
    }

    /// Another loop gets the entry of this one.
    fn make_room(&mut self, at: usize, arena: &Arena) {
        let kept = &mut self.kept[at];
        if kept.run.can_suspend {
            let run = core::mem::take(&mut kept.run);
            kept.waiting += u32::from(run.left != 0);
            kept.note_left(arena);
            self.suspend(run, arena);
        }
    }

    /// Makes the run of a frame the last one of its loop. The one before it waits if its frame comes back: it is suspended, or runs further out.
    fn turn_to(&mut self, index: usize, running: &Running, stack: &LoopStack, arena: &Arena) {
        let LoopState { record, code, first, run: before, .. } = self.kept[index];
        if before.frame == running.frame {
            return;
        }
        let comes_back = before.frame != 0 && (before.can_suspend || stack.has(code, first, before.frame));
        let found = self.suspended.take(record, running.frame);
        if !comes_back && found.is_none() {
            return;
        }
        let kept = &mut self.kept[index];
        kept.run = found.unwrap_or_default();
        kept.waiting = kept.waiting.saturating_sub(found.is_some_and(|run| run.left != 0).into());
        let iterator = running.progress.map_or(0, |progress| progress.iterator);
        if iterator != 0 && before.iterator == iterator && before.count > kept.run.count {
            kept.run.follow(&before);
        }
        if comes_back {
            kept.waiting += u32::from(before.left != 0);
            self.suspend(before, arena);
        } else if before.is_open() {
            kept.flag(arena, LOOP_UNSURE);
        }
    }

    /// Keeps a run until its frame comes back.
    fn suspend(&mut self, run: LoopRun, arena: &Arena) {
        let Some(forgotten) = self.suspended.keep(run).filter(|forgotten| !forgotten.is_over()) else {
            return;
        };
        let is_unsure = if forgotten.left != 0 { LOOP_UNSURE } else { 0 };
        flag(arena, forgotten.record, LOOP_FORGOTTEN | is_unsure);
        let mut loops = self.kept.iter_mut();
        if let Some(kept) = loops.find(|kept| kept.record == forgotten.record && forgotten.left != 0) {
            kept.waiting = kept.waiting.saturating_sub(1);
        }
    }

    /// A loop has advanced: those inside it, whether they run now or not, begin anew when they are next seen. Another frame that can be suspended goes on.
    fn begin_anew_inside(&mut self, record: u32, frame: u64) {
        let inside = self.kept.iter_mut().filter(|kept| kept.parent == record && kept.record != record);
        let goes_on = |kept: &LoopState| kept.run.can_suspend && kept.run.frame != frame;
        inside.filter(|kept| !goes_on(kept)).for_each(|kept| kept.run.frame = 0);
    }

    /// Has the agent notice when the iterator of a loop is freed. Any other loop that had one at this address is over.
    fn watch_iterator(&mut self, index: usize, samples: &Samples) {
        let block = self.kept[index].run.counter.block;
        if block == 0 {
            return;
        }
        let others = self.kept.iter_mut().enumerate();
        let others = others.filter(|(at, kept)| *at != index && kept.run.counter.block == block);
        others.for_each(|(_, kept)| kept.run.counter = Counter::default());
        self.suspended.with_counter_in(Addr::new(block), |run| run.counter = Counter::default());
        samples.watch_iterator(Addr::new(block));
    }

    fn position_of(&self, running: &Running) -> Option<usize> {
        let wanted = (running.code, running.first);
        self.kept.iter().position(|kept| kept.record != 0 && (kept.code, kept.first) == wanted)
    }

    /// Between two inspections the frame that is watched may have gone on.
    fn note_last_instruction(&mut self) {
        let WatchedPosition { frame, instruction, .. } = self.watched;
        let same = self.kept.iter_mut().filter(|kept| frame.frame != 0 && kept.run.frame == frame.frame);
        same.for_each(|kept| kept.run.instruction = instruction);
    }

    /// From now on the innermost frame that can loop is watched, whether it is inside a loop now or not.
    fn watch(&mut self, event: &Event<'_>, stack: &LoopStack) {
        let innermost = stack.count.checked_sub(1).map(|at| &stack.loops[at]);
        let innermost = innermost.filter(|innermost| innermost.frame == stack.watched.frame);
        let kept = innermost.and_then(|innermost| self.position_of(innermost)).map(|at| &self.kept[at]);
        let mut frame = stack.watched;
        if kept.is_some_and(|kept| kept.run.is_seeking) {
            frame.until = frame.instruction(event.thread) + 1; // its body is to be seen
        }
        self.watched = WatchedPosition {
            frame,
            instruction: frame.instruction(event.thread),
            reports: innermost.is_some_and(|innermost| innermost.progress.is_some()),
            compares_variables: innermost.is_some_and(|innermost| innermost.progress.is_none()),
            key: kept.map_or(event.key, |kept| kept.run.key),
            ..WatchedPosition::default()
        };
        self.watched.stand_here(event);
        self.kept.iter_mut().for_each(|kept| kept.inspections = kept.inspections.saturating_sub(1));
    }
}

impl WatchedFrame {
    /// The instruction that it is at. It must be running.
    #[inline]
    fn instruction(&self, thread: Thread<'_>) -> u32 {
        if self.frame == 0 {
            return 0;
        }
        thread.known.instruction(self.code, thread.known.position(self.frame))
    }
}

impl WatchedPosition {
    /// Whether the frame may be in another loop or in another iteration. The event has just seen it running. Going on to an
    /// instruction further down is neither.
    #[inline]
    fn has_moved(&mut self, event: &Event<'_>) -> bool {
        if event.thread.known.code(self.frame.frame) != Some(self.frame.code) {
            return true; // another frame at the same address
        }
        let instruction = self.frame.instruction(event.thread);
        let may_anchor = self.key == 0 && event.key != 0;
        if instruction > self.instruction && instruction < self.frame.until && !may_anchor {
            self.instruction = instruction;
            self.seen_here = 0;
            self.stand_here(event);
            return false;
        }
        if instruction != self.instruction {
            return true;
        }
        match event.key {
            0 => self.reports,
            key if key == self.key || self.key == 0 => true,
            _ if !(self.reports || self.compares_variables) || !self.came_again_here(event) => false,
            _ => {
                self.went_around = self.compares_variables && self.variables(event) != self.variables_here;
                self.reports || self.went_around
            }
        }
    }

    /// Whether something else is done again than what the iteration began with that is kept in mind: iterations need not be alike. A
    /// loop that reports its iterations can be asked; of any other the variables show whether it went around, or a function of C does the same
    /// several times in one iteration.
    #[inline]
    fn came_again_here(&mut self, event: &Event<'_>) -> bool {
        if event.key == self.key_here {
            return true;
        }
        self.seen_here = self.seen_here.saturating_add(1);
        if self.seen_here.is_power_of_two() {
            self.stand_here(event);
        }
        false
    }

    /// Keeps a stack in mind that was seen at this instruction.
    #[inline]
    fn stand_here(&mut self, event: &Event<'_>) {
        self.key_here = event.key;
        self.variables_here = self.variables(event);
    }

    /// A number for the variables of the frame, where they are compared. A stack without a key is not.
    #[inline]
    fn variables(&self, event: &Event<'_>) -> u64 {
        let WatchedFrame { frame, code, .. } = self.frame;
        let is_needed = self.compares_variables && event.key != 0;
        if is_needed { event.thread.known.variables(frame, code) } else { 0 }
    }
}
