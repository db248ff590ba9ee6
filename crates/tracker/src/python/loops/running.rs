//! The loops that are running on a stack, read from its frames.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_cpython::bytecode::CodeLoop;
use heaplens_cpython::iterators::{Kind, Progress};
use heaplens_format::arena::Region;

use super::event::Tables;
use crate::modules::interpreter::{Known, Thread};
use crate::modules::memory::{Checked, Live, word};
use crate::python::codes::{self, Codes};
use crate::python::walk::MOST_FRAMES;
use crate::tables::arena::Arena;

/// Loops on one stack; of more the innermost are left out.
pub(super) const DEEPEST: usize = 12;

/// A loop on the stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Running {
    pub(super) code: u32,
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) instruction: u32,
    pub(super) frame: u64,
    /// Where the code object is.
    address: u64,
    /// Of a `for` loop: how many others are around it in the same code.
    iterator: Option<usize>,
    /// Its iterator, once it was asked; 0 where it reports its progress, and where there is none.
    iterated: u64,
    /// Values that each of its iterations gives to whoever iterates the generator that it is in.
    yields: u32,
    /// How far it is, once it was asked.
    pub(super) progress: Option<Progress>,
    /// Whether others may take items from the iterator.
    pub(super) is_shared: bool,
    /// Whether its iterator is not on the stack any more: an exception leaves the loop.
    pub(super) is_left: bool,
    /// Whether its frame can be suspended and resumed.
    pub(super) can_suspend: bool,
    /// Whether it takes its next item, and Python code runs for that, such as that of a generator.
    pub(super) seeks_item: bool,
    /// The part of its body around the instruction that is a loop of its own; empty where none is.
    pub(super) inner: (u32, u32),
}

impl Running {
    /// Asks the iterator how far it is.
    pub(super) fn ask(&mut self, known: &Known, tables: Tables<'_>) {
        let iterator = self.iterator.and_then(|around| known.iterator(self.frame, self.address, around));
        self.is_left = self.iterator.is_some() && iterator.is_none();
        if let Some(Kind::Uncountable(object)) = iterator {
            self.iterated = object;
        }
        let Some(Kind::Countable(mut progress)) = iterator else { return };
        if !tables.samples.notices_ends() {
            progress.counter.block = 0;
        }
        // Where the end of an iterator is not noticed, the next one at its address cannot be told apart from it: iterations before the first
        // inspection may have been those of a run in between.
        progress.is_whole &= progress.counter.block != 0 || progress.first <= 1;
        self.is_shared = progress.others > 0
            && progress.others > codes::references_of_argument(known, tables.arena, self.code);
        self.progress = Some(progress);
    }
}

impl Running {
    /// How many items a loop has taken for each iteration of this one: those that the generator gives whose loop this is. 0 where the loop takes
    /// its items from elsewhere, and where it is not known how many there were.
    pub(super) fn items_for(&self, around: &Self, known: &Known) -> u32 {
        let is_its = around.seeks_item
            && around.iterated != 0
            && self.can_suspend
            && known.layout.is_generator_of(&Checked, around.iterated, self.frame);
        if is_its { self.yields } else { 0 }
    }
}

/// The loops on a stack, outermost first.
#[derive(Default)]
pub(super) struct LoopStack {
    pub(super) count: usize,
    pub(super) loops: [Running; DEEPEST],
    /// The innermost frame.
    innermost: u64,
    /// The innermost frame whose code has loops.
    pub(super) watched: WatchedFrame,
}

/// A frame that is to be watched.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct WatchedFrame {
    pub(super) frame: u64,
    pub(super) code: u64,
    /// Up to this instruction nothing begins and nothing ends: the loops that run now are those that run there.
    pub(super) until: u32,
}

impl LoopStack {
    pub(super) fn read(&mut self, thread: Thread<'_>, codes: &mut Codes, tables: Tables<'_>) {
        let known = thread.known;
        let mut frame = thread.innermost();
        self.innermost = frame;
        for _ in 0..MOST_FRAMES {
            if frame == 0 {
                break;
            }
            if let Some(code) = known.code(frame)
                && let Some(number) = codes.number(known, tables.arena, tables.trie, code)
            {
                self.read_frame(known, frame, code, number, loops_of(tables.arena, number));
            }
            frame = word(frame, known.layout.frame.previous);
        }
        self.loops[..self.count].reverse();
    }

    /// Adds the loops that a frame is in, innermost first.
    fn read_frame(&mut self, known: &Known, frame: u64, code: u64, number: u32, loops: CodeLoops) {
        if loops.count == 0 {
            return;
        }
        let instruction = known.instruction(code, known.position(frame));
        if self.watched.frame == 0 {
            self.watched = WatchedFrame { frame, code, until: loops.until(instruction) };
        }
        let can_suspend = known.layout.can_suspend(&Live, code);
        let is_innermost = self.innermost == frame;
        let contains = |one: &CodeLoop| (one.begin..one.end).contains(&instruction);
        let mut inner = (0, 0);
        for at in (0..loops.count).rev() {
            let one = loops.get(at);
            if !contains(&one) {
                continue;
            }
            let outer = (0..at).map(|at| loops.get(at)).filter(|one| one.has_iterator() && contains(one));
            let running = Running {
                code: number,
                first: one.first,
                end: one.end,
                instruction,
                frame,
                address: code,
                iterator: one.has_iterator().then(|| outer.count()),
                iterated: 0,
                yields: one.yields,
                progress: None,
                is_shared: false,
                is_left: false,
                can_suspend,
                seeks_item: one.takes_item(instruction) && !is_innermost,
                inner,
            };
            inner = (running.first, running.end);
            self.push(running);
        }
    }

    /// Whether a loop is running in a frame.
    pub(super) fn has(&self, code: u32, first: u32, frame: u64) -> bool {
        let mut running = self.loops[..self.count].iter();
        running.any(|one| (one.code, one.first, one.frame) == (code, first, frame))
    }

    /// Whether a loop runs once more further in.
    pub(super) fn recurs(&self, at: usize) -> bool {
        let Running { code, first, .. } = self.loops[at];
        self.loops[at + 1..self.count].iter().any(|inner| (inner.code, inner.first) == (code, first))
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
    /// The next instruction at which a part of a loop begins or ends.
    fn until(&self, instruction: u32) -> u32 {
        let edges = (0..self.count).flat_map(|at| [self.get(at).begin, self.get(at).end]);
        edges.filter(|&edge| edge > instruction).min().unwrap_or(u32::MAX)
    }

    fn get(&self, index: usize) -> CodeLoop {
        // SAFETY: `codes` put so many of them there; STRINGS knows no alignment.
        unsafe { ((self.at + index * size_of::<CodeLoop>()) as *const CodeLoop).read_unaligned() }
    }
}

fn loops_of(arena: &Arena, code: u32) -> CodeLoops {
    let strings = codes::record(arena, code).loops.load(Relaxed);
    let at = arena.address(Region::Strings, (strings >> 32) as usize);
    CodeLoops { at, count: strings as u32 as usize / size_of::<CodeLoop>() }
}
