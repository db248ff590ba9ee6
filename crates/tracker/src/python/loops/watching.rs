//! The loops of one thread, and when they are looked at.

use heaplens_cpython::iterators::Counter;
use heaplens_format::Addr;

use super::event::{Event, Tables};
use super::iterations::{Around, LoopState, LoopStep, step};
use super::pause::{Pause, Settled};
use super::records::{adopt, parent_of, record_of};
use super::running::{LoopStack, Running, WatchedFrame};
use crate::modules::interpreter::Thread;
use crate::modules::memory::Checked;
use crate::objects::samples::Samples;
use crate::python::codes::Codes;
use crate::tables::arena::Arena;
use crate::tables::slot_id::SlotId;

/// Loops that a thread keeps in mind.
const KEPT: usize = 64;
/// Events after which all loops are looked at, whatever the innermost one does.
const LOOK_EVERY: u32 = 64;

/// The loops of one thread. Zero pages are an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Loops {
    watched: WatchedPosition,
    pause: Pause,
    events: u32,
    kept: [LoopState; KEPT],
}

/// What must change before anything can have passed.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct WatchedPosition {
    /// The innermost frame whose code has loops; zero where there is none.
    frame: WatchedFrame,
    /// Where it is.
    instruction: u32,
    /// Whether the innermost loop tells its passes.
    tells: bool,
    /// The stack that its pass began with.
    key: u64,
    /// A stack that was seen at this instruction, and how many were there: it is taken anew behind one, two, four of them, so that
    /// whatever comes again is found (Brent's search for cycles).
    key_here: u64,
    seen_here: u32,
}

impl Loops {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.watched = WatchedPosition::default();
        self.pause = Pause::default();
        self.kept.fill(LoopState::default());
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
            || self.events.is_multiple_of(LOOK_EVERY)
        {
            self.look(event, codes, tables);
        }
    }

    /// A watched iterator is about to be freed: its loop is over. The next loop may get the same frame and iterator addresses, so
    /// the next event looks.
    #[cold]
    pub fn on_iterator_freed(&mut self, block: Addr, thread: Thread<'_>, arena: &Arena) {
        let mut loops = self.kept.iter_mut();
        let of_block = |kept: &&mut LoopState| kept.record != 0 && kept.counter.block == block.get();
        let Some(kept) = loops.find(of_block) else { return };
        kept.end(arena, thread.known.types.last_count(&Checked, kept.counter));
        self.pause.end(kept.record);
        self.note_last_place();
        self.watched = WatchedPosition::default();
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, event: Event<'_>, codes: &mut Codes, tables: Tables<'_>) {
        let Event { thread, slot, key, .. } = event;
        self.note_last_place();
        let mut stack = LoopStack::default();
        stack.read(thread, codes, tables);
        let (mut around, mut settled) = (Around::default(), None);
        for at in 0..stack.count {
            stack.loops[at].ask(thread.known, tables);
            let running = stack.loops[at];
            let Some(place) = self.find(&running, tables.arena, slot, around.parent) else { return };
            let kept = &mut self.kept[place];
            if kept.is_left_by(&running, tables.arena) {
                break;
            }
            let is_innermost = at + 1 == stack.count;
            let step = step(kept, &running, around.is_new, is_innermost.then_some(key));
            // A loop that began anew inside one that does not tell its passes: that one has passed.
            if let (LoopStep::Entered(_), Some(outer), true) =
                (step, around.silent, kept.frame == running.frame)
            {
                let outer = &mut self.kept[outer];
                let record = outer.advance(tables.arena, LoopStep::Passed(1), None);
                outer.mark_if_due(tables, record, around.may_mark_silent);
            }
            let before = self.kept[place].counter.block;
            around.enter(&mut self.kept[place], place, &running, step, tables, key);
            if matches!(step, LoopStep::Entered(_)) || self.kept[place].counter.block != before {
                self.watch_iterator(place, tables.samples);
            }
            if step != LoopStep::Passed(0) {
                self.begin_anew_inside(around.parent);
            }
            if around.is_enough && running.progress.is_some() {
                // What runs inside it makes no marks, and is not needed to know its passes.
                settled = Some(Settled { record: self.kept[place].record, step });
                break;
            }
        }
        self.watch(&event, &stack);
        self.pause.begin(settled);
    }

    /// The loop's entry, made where it is new in the place of the one that was not seen for longest.
    fn find(&mut self, running: &Running, arena: &Arena, slot: SlotId, parent: u32) -> Option<usize> {
        if let Some(at) = self.position_of(running) {
            if self.kept[at].parent == 0 && adopt(arena, self.kept[at].record, parent) {
                self.kept[at].parent = parent;
            }
            return Some(at);
        }
        let record = record_of(arena, running, slot, parent)?;
        let at = (0..KEPT).min_by_key(|&at| self.kept[at].looks)?;
        let parent = parent_of(arena, record);
        self.kept[at] = LoopState {
            record,
            parent,
            code: running.code,
            first: running.first,
            stride: 1,
            ..LoopState::default()
        };
        Some(at)
    }

    /// A loop has passed: those inside it, whether they run now or not, begin anew when they are next seen.
    fn begin_anew_inside(&mut self, record: u32) {
        let inside = self.kept.iter_mut().filter(|kept| kept.parent == record && kept.record != record);
        inside.for_each(|kept| kept.frame = 0);
    }

    /// Has the agent notice when the iterator of a loop is freed. Any other loop that had one at this address is over.
    fn watch_iterator(&mut self, place: usize, samples: &Samples) {
        let block = self.kept[place].counter.block;
        if block == 0 {
            return;
        }
        let others =
            self.kept.iter_mut().enumerate().filter(|(at, kept)| *at != place && kept.counter.block == block);
        others.for_each(|(_, kept)| kept.counter = Counter::default());
        samples.watch_iterator(Addr::new(block));
    }

    fn position_of(&self, running: &Running) -> Option<usize> {
        let wanted = (running.code, running.first);
        self.kept.iter().position(|kept| kept.record != 0 && (kept.code, kept.first) == wanted)
    }

    /// Between two looks the frame that is watched may have gone on.
    fn note_last_place(&mut self) {
        let WatchedPosition { frame, instruction, .. } = self.watched;
        let same = self.kept.iter_mut().filter(|kept| frame.frame != 0 && kept.frame == frame.frame);
        same.for_each(|kept| kept.instruction = instruction);
    }

    /// From now on the innermost frame that can loop is watched, whether it is inside a loop now or not.
    fn watch(&mut self, event: &Event<'_>, stack: &LoopStack) {
        let innermost = stack.count.checked_sub(1).map(|at| &stack.loops[at]);
        let innermost = innermost.filter(|innermost| innermost.frame == stack.watched.frame);
        let kept = innermost.and_then(|innermost| self.position_of(innermost)).map(|at| &self.kept[at]);
        self.watched = WatchedPosition {
            frame: stack.watched,
            instruction: stack.watched.place(event.thread),
            tells: innermost.is_some_and(|innermost| innermost.progress.is_some()),
            key: kept.map_or(event.key, |kept| kept.key),
            key_here: event.key,
            seen_here: 0,
        };
        self.kept.iter_mut().for_each(|kept| kept.looks = kept.looks.saturating_sub(1));
    }
}

impl WatchedFrame {
    /// The instruction that it is at. It must be running.
    #[inline]
    fn place(&self, thread: Thread<'_>) -> u32 {
        if self.frame == 0 {
            return 0;
        }
        thread.known.instruction(self.code, thread.known.position(self.frame))
    }
}

impl WatchedPosition {
    /// Whether the frame may be in another loop or in another pass. The event has just seen it running. Going on to an
    /// instruction further down is neither.
    #[inline]
    fn has_moved(&mut self, event: &Event<'_>) -> bool {
        if event.thread.known.code(self.frame.frame) != Some(self.frame.code) {
            return true; // another frame at the same address
        }
        let instruction = self.frame.place(event.thread);
        let may_anchor = self.key == 0 && event.key != 0;
        if instruction > self.instruction && instruction < self.frame.until && !may_anchor {
            self.instruction = instruction;
            (self.key_here, self.seen_here) = (event.key, 0);
            return false;
        }
        if instruction != self.instruction {
            return true;
        }
        match event.key {
            0 => self.tells,
            key => key == self.key || self.key == 0 || self.tells && self.came_again_here(key),
        }
    }

    /// Whether something else is done again than what the pass began with that is kept in mind: passes need not be alike, and a
    /// loop that tells its passes can be asked.
    #[inline]
    fn came_again_here(&mut self, key: u64) -> bool {
        if key == self.key_here {
            return true;
        }
        self.seen_here = self.seen_here.saturating_add(1);
        if self.seen_here.is_power_of_two() {
            self.key_here = key;
        }
        false
    }
}
