//! Which loops of the user's code are running, and how many passes they made: told by what events see, without tracing.
//!
//! A `for` loop over a built-in iterator says itself how far it is. Any other loop has passed when its frame went back
//! without an inner loop that would explain it, when a loop inside it began anew, or when the very stack comes again that
//! its last pass began with.
//!
//! ```text
//!   event ─▶ the innermost frame that can loop: where it was? ──yes──▶ nothing to do          (nearly always)
//!                    │ no, or some events later
//!                    ▼
//!            all loops on the stack, outermost first ─▶ passes ─▶ a mark, when one is due
//! ```
//!
//! Inside a loop that made [`ENOUGH`] passes no other makes marks: an iteration is a pass of the outermost such loop.

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_format::arena::Region;
use heaplens_format::arena::marks::{LOOP_COUNTED, LOOP_SIZE, LOOP_UNSURE, Loop, MarkKind};
use heaplens_format::arena::python::{CODE_LOOP_SIZE, CodeLoop};

use super::codes::{self, Codes};
use super::iterators::Progress;
use super::walk::{MOST_FRAMES, word};
use super::{Known, Thread};
use crate::arena::Arena;
use crate::marks::{Marks, NewMark};
use crate::seat::SeatId;
use crate::sys;
use crate::trie::Trie;

/// So many passes make a loop the one whose passes are iterations.
pub const ENOUGH: u64 = 20;
/// Loops on one stack; of more the innermost are left out.
const DEEPEST: usize = 12;
/// Loops that a thread keeps in mind.
const KEPT: usize = 64;
/// Events after which all loops are looked at, whatever the innermost one does.
const LOOK_EVERY: u32 = 64;
/// Marks of one loop that are made with each pass; from then on half as often every time this many more were made.
const CLOSE_MARKS: u32 = 64;
/// The most loops of a process that are kept.
const MOST_LOOPS: u64 = 4096;

/// The tables that a look at loops reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// The arena.
    pub arena: &'a Arena,
    /// The trie, by which code objects are numbered.
    pub trie: &'a Trie,
    /// The marks.
    pub marks: &'a Marks,
}

/// An event, as far as loops are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The thread.
    pub thread: Thread<'a>,
    /// Its seat.
    pub seat: SeatId,
    /// The innermost frame whose code has loops; 0 where none has.
    pub loop_frame: u64,
    /// The whole stack; 0 where that it comes again says nothing.
    pub key: u64,
}

/// The loops of one thread. Zero pages are an empty one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Loops {
    watched: Watched,
    events: u32,
    kept: [Kept; KEPT],
}

/// What must change before anything can have passed.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Watched {
    /// The innermost frame whose code has loops; 0 where there is none.
    frame: u64,
    position: u64,
    /// Where its iterator is told, and how far it was; 0 for a loop without.
    slot: u64,
    iterator: u64,
    count: u64,
    /// The stack that its pass began with.
    key: u64,
}

/// A loop as it was last seen.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Kept {
    /// Its record in LOOPS; 0 for an empty entry.
    record: u32,
    /// That of the loop around it.
    parent: u32,
    code: u32,
    first: u32,
    instruction: u32,
    /// The frame that it ran in; 0 when it has begun anew since.
    frame: u64,
    iterator: u64,
    count: u64,
    key: u64,
    /// When it was last seen, in looks.
    looks: u32,
    marks: u32,
    stride: u64,
    next_mark: u64,
}

/// A loop on the stack.
#[derive(Clone, Copy, Default)]
struct Running {
    code: u32,
    first: u32,
    end: u32,
    instruction: u32,
    frame: u64,
    slot: u64,
    progress: Option<Progress>,
    /// The part of its body around the instruction that is a loop of its own; empty where none is.
    inner: (u32, u32),
}

/// What a loop did since it was last seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It went on by so many passes.
    Passed(u64),
    /// It began anew and made so many passes.
    Entered(u64),
}

impl Loops {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.watched = Watched::default();
        self.kept.fill(Kept::default());
    }

    /// An event of the thread.
    #[inline]
    pub fn on_event(&mut self, event: Event<'_>, codes: &mut Codes, tables: Tables<'_>) {
        if event.loop_frame | self.watched.frame == 0 {
            return;
        }
        self.events = self.events.wrapping_add(1);
        if event.loop_frame != self.watched.frame
            || self.watched.has_moved(&event)
            || self.events.is_multiple_of(LOOK_EVERY)
        {
            self.look(event, codes, tables);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, event: Event<'_>, codes: &mut Codes, tables: Tables<'_>) {
        let Event { thread, seat, key, .. } = event;
        let mut stack = Stack::default();
        stack.read(thread, codes, tables);
        let mut around = Around::default();
        for at in 0..stack.count {
            let running = stack.loops[at];
            let Some(place) = self.find(&running, tables.arena, seat, around.parent) else { return };
            let kept = &mut self.kept[place];
            let is_innermost = at + 1 == stack.count;
            let step = step(kept, &running, around.is_new, is_innermost.then_some(key));
            // A loop that began anew inside one that does not tell its passes: that one has passed.
            if let (Step::Entered(_), Some(outer), true) = (step, around.silent, kept.frame == running.frame)
            {
                let outer = &mut self.kept[outer];
                let record = outer.advance(tables.arena, Step::Passed(1), None);
                outer.mark_if_due(tables, record, around.may_mark_silent);
            }
            around.enter(&mut self.kept[place], place, &running, step, tables, key);
            if step != Step::Passed(0) {
                self.begin_anew_inside(around.parent);
            }
        }
        self.watch(&event, &stack);
    }

    /// The loop's entry, made where it is new in the place of the one that was not seen for longest.
    fn find(&mut self, running: &Running, arena: &Arena, seat: SeatId, parent: u32) -> Option<usize> {
        if let Some(at) = self.position_of(running) {
            if self.kept[at].parent == 0 && adopt(arena, self.kept[at].record, parent) {
                self.kept[at].parent = parent;
            }
            return Some(at);
        }
        let record = record_of(arena, running, seat, parent)?;
        let at = (0..KEPT).min_by_key(|&at| self.kept[at].looks)?;
        let parent = loop_record(arena, record).parent.load(Relaxed);
        self.kept[at] =
            Kept { record, parent, code: running.code, first: running.first, stride: 1, ..Kept::default() };
        Some(at)
    }

    /// A loop has passed: those inside it, whether they run now or not, begin anew when they are next seen.
    fn begin_anew_inside(&mut self, record: u32) {
        let inside = self.kept.iter_mut().filter(|kept| kept.parent == record && kept.record != record);
        inside.for_each(|kept| kept.frame = 0);
    }

    fn position_of(&self, running: &Running) -> Option<usize> {
        let wanted = (running.code, running.first);
        self.kept.iter().position(|kept| kept.record != 0 && (kept.code, kept.first) == wanted)
    }

    /// From now on the innermost frame that can loop is watched, whether it is inside a loop now or not.
    fn watch(&mut self, event: &Event<'_>, stack: &Stack) {
        let innermost = stack.count.checked_sub(1).map(|at| &stack.loops[at]);
        let innermost = innermost.filter(|innermost| innermost.frame == event.loop_frame);
        let progress = innermost.and_then(|innermost| innermost.progress);
        let begun_with =
            innermost.and_then(|innermost| self.position_of(innermost)).map(|at| self.kept[at].key);
        self.watched = Watched {
            frame: event.loop_frame,
            position: if event.loop_frame == 0 { 0 } else { event.thread.known.position(event.loop_frame) },
            slot: progress.and(innermost).map_or(0, |innermost| innermost.slot),
            iterator: progress.map_or(0, |progress| progress.iterator),
            count: progress.map_or(0, |progress| progress.count),
            key: begun_with.unwrap_or(event.key),
        };
        self.kept.iter_mut().for_each(|kept| kept.looks = kept.looks.saturating_sub(1));
    }
}

impl Watched {
    /// Whether the frame is somewhere else than it was, or may be in another pass. The event has just seen it running.
    #[inline]
    fn has_moved(&self, event: &Event<'_>) -> bool {
        let known = event.thread.known;
        if known.position(self.frame) != self.position {
            return true;
        }
        if self.slot == 0 {
            return event.key != 0 && (event.key == self.key || self.key == 0);
        }
        let iterator = word(self.slot, 0) & !3;
        iterator != self.iterator
            || known.types.progress(iterator).is_none_or(|progress| progress.count != self.count)
    }
}

/// What is known of the loops around the one that is looked at.
#[derive(Default)]
struct Around {
    /// The record of the next one outwards.
    parent: u32,
    /// Whether one of them passed or began: then everything inside it began anew.
    is_new: bool,
    /// The next one outwards, where it does not tell its passes and did not pass now.
    silent: Option<usize>,
    may_mark_silent: bool,
    /// Whether one of them made enough passes.
    is_enough: bool,
}

impl Around {
    fn enter(
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
        self.is_enough |= record.passes.load(Relaxed) >= ENOUGH;
    }
}

/// What a loop did. `key` is given for the innermost one alone: only there a stack that comes again says something.
fn step(kept: &Kept, running: &Running, around_is_new: bool, key: Option<u64>) -> Step {
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
    fn advance<'a>(&mut self, arena: &'a Arena, step: Step, progress: Option<Progress>) -> &'a Loop {
        let record = loop_record(arena, self.record);
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
        if progress.is_none() {
            record.flags.store(record.flags.load(Relaxed) & !LOOP_COUNTED, Relaxed);
        }
        record.passes.store(record.passes.load(Relaxed) + passes, Relaxed);
        record.unseen.store(record.unseen.load(Relaxed) + passes.saturating_sub(1), Relaxed);
        record.left.store(progress.map_or(u64::MAX, |progress| progress.left), Relaxed);
        record
    }

    fn see(&mut self, running: &Running) {
        let progress = running.progress.unwrap_or_default();
        self.instruction = running.instruction;
        self.frame = running.frame;
        (self.iterator, self.count) = (progress.iterator, progress.count);
        self.looks = u32::MAX;
    }

    fn mark_if_due(&mut self, tables: Tables<'_>, record: &Loop, may_mark: bool) {
        let passes = record.passes.load(Relaxed);
        if !may_mark || passes < self.next_mark {
            return;
        }
        let mark = NewMark { kind: MarkKind::Pass, of_loop: self.record, pass: passes, label: &[] };
        if tables.marks.make(tables.arena, mark).is_some() {
            self.marks += 1;
            if self.marks.is_multiple_of(CLOSE_MARKS) {
                self.stride *= 2;
            }
            self.next_mark = passes + self.stride;
            record.last_ns.store(sys::monotonic_ns(), Relaxed);
        }
    }
}

/// The loops on a stack, outermost first.
#[derive(Default)]
struct Stack {
    count: usize,
    loops: [Running; DEEPEST],
}

impl Stack {
    fn read(&mut self, thread: Thread<'_>, codes: &mut Codes, tables: Tables<'_>) {
        let known = thread.known;
        let mut frame = thread.innermost();
        for _ in 0..MOST_FRAMES {
            if frame == 0 {
                break;
            }
            if let Some(code) = known.code(frame)
                && let Some(number) = codes.number(known, tables.arena, tables.trie, code)
            {
                self.read_frame(known, frame, code, number, loops_of(tables.arena, number));
            }
            frame = word(frame, known.layout.frame_previous);
        }
        self.loops[..self.count].reverse();
    }

    /// Adds the loops that a frame is in, innermost first.
    fn read_frame(&mut self, known: &Known, frame: u64, code: u64, number: u32, loops: CodeLoops) {
        if loops.count == 0 {
            return;
        }
        let instruction = known.instruction(code, known.position(frame));
        let contains = |one: &CodeLoop| (one.first..one.end).contains(&instruction);
        let mut inner = (0, 0);
        for at in (0..loops.count).rev() {
            let one = loops.get(at);
            if !contains(&one) {
                continue;
            }
            let mut running = Running {
                code: number,
                first: one.first,
                end: one.end,
                instruction,
                frame,
                inner,
                ..Running::default()
            };
            if one.has_iterator == 1 {
                let outer =
                    (0..at).map(|at| loops.get(at)).filter(|one| one.has_iterator == 1 && contains(one));
                running.slot = known.iterator_slot(frame, code, outer.count()).unwrap_or(0);
                running.progress =
                    if running.slot == 0 { None } else { known.types.progress(word(running.slot, 0) & !3) };
            }
            inner = (running.first, running.end);
            self.push(running);
        }
    }

    fn push(&mut self, running: Running) {
        if self.count == DEEPEST {
            self.loops.copy_within(1.., 0);
            self.count -= 1;
        }
        self.loops[self.count] = running;
        self.count += 1;
    }
}

/// The loops of a code object, in the arena.
#[derive(Clone, Copy)]
struct CodeLoops {
    at: usize,
    count: usize,
}

impl CodeLoops {
    fn get(&self, index: usize) -> CodeLoop {
        // SAFETY: `copy_loops` put so many of them there; STRINGS knows no alignment.
        unsafe { ((self.at + index * CODE_LOOP_SIZE) as *const CodeLoop).read_unaligned() }
    }
}

fn loops_of(arena: &Arena, code: u32) -> CodeLoops {
    let place = codes::record(arena, code).loops.load(Relaxed);
    let at = arena.address(Region::Strings, (place >> 32) as usize);
    CodeLoops { at, count: place as u32 as usize / CODE_LOOP_SIZE }
}

fn loop_record(arena: &Arena, number: u32) -> &Loop {
    // SAFETY: a number that `record_of` gave out.
    unsafe { arena.record(Region::Loops, number as usize * LOOP_SIZE) }
}

/// A loop that was alone when it was first seen is inside another one now; in a recursion the first word counts.
fn adopt(arena: &Arena, number: u32, parent: u32) -> bool {
    let mut ancestor = parent;
    for _ in 0..DEEPEST {
        if ancestor == number {
            return false;
        }
        if ancestor == 0 {
            loop_record(arena, number).parent.store(parent, Relaxed);
            return parent != 0;
        }
        ancestor = loop_record(arena, ancestor).parent.load(Relaxed);
    }
    false
}

/// The record of a loop in this thread, found or made. `None`: there are too many.
#[cold]
fn record_of(arena: &Arena, running: &Running, seat: SeatId, parent: u32) -> Option<u32> {
    let place = u64::from(running.code) << 32 | u64::from(running.first);
    let extent = arena.extent(Region::Loops);
    let used = extent.used.load(Relaxed).min(extent.reserved.load(Relaxed)) / LOOP_SIZE as u64;
    let known = (1..used as u32).find(|&number| {
        let record = loop_record(arena, number);
        record.place.load(Relaxed) == place && record.seat.load(Relaxed) == seat.get()
    });
    if known.is_some() || used >= MOST_LOOPS {
        return known;
    }
    if used == 0 {
        arena.take(Region::Loops, LOOP_SIZE as u64)?; // record 0 stands for "none"
    }
    let number = u32::try_from(arena.take(Region::Loops, LOOP_SIZE as u64)? / LOOP_SIZE).ok()?;
    let record = loop_record(arena, number);
    record.last.store(running.end.saturating_sub(1), Relaxed);
    record.flags.store(LOOP_COUNTED, Relaxed);
    record.parent.store(parent, Relaxed);
    record.seat.store(seat.get(), Relaxed);
    record.first_ns.store(sys::monotonic_ns(), Relaxed);
    // Release: a reader that sees the place sees a whole record.
    record.place.store(place, Release);
    Some(number)
}
