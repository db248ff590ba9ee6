//! From a native stack and a Python stack to one: each C frame that executes Python becomes the run of Python frames that
//! it executes, and the interpreter's other frames go, but for those between the innermost Python frame and the hook; of an
//! object, whose maker is the interpreter anyway, these go, too.
//!
//! ```text
//!   native   main · run_file · EVAL₁ · vectorcall · callback (C++) · PyObject_Call · EVAL₂ · list_append · malloc
//!   Python                     a → b                                              c
//!   merged                     a · b ·              callback (C++) ·               c    · list_append
//! ```
//!
//! Which C frame executes which run is known by address: the interpreter keeps a record of each run inside that C frame.

use heaplens_format::arena::Pseudo;
use heaplens_format::arena::frame::split_frame;
use heaplens_format::arena::python::python_frame;
use heaplens_format::{Addr, NodeId};

use super::checkpoint::Checkpoint;
use super::imports::Import;
use super::path::StackPath;
use super::scratch::PythonScratch;
use super::walk::{PythonFrame, Walk};
use crate::modules::interpreter::Thread;
use crate::tables::arena::Arena;
use crate::tables::trie::Trie;
use crate::unwind::memo::NativeFrame;

/// Python frames that a native stack belongs to.
#[derive(Clone, Copy, Debug)]
pub enum PythonCaller<'a> {
    /// Those of the thread, and the number of that stack.
    Thread(Thread<'a>, u64),
    /// Those that made the operation that it runs.
    Maker(NodeId),
    /// None.
    None,
}

/// A native stack.
#[derive(Clone, Copy, Debug)]
pub struct NativeStack<'a> {
    /// The frames, outermost first.
    pub frames: &'a [NativeFrame],
    /// Where the stack ends.
    pub end: Addr,
    /// Why it is incomplete.
    pub bottom: Option<Pseudo>,
    /// The module whose frames are not the program's.
    pub own_module: u16,
}

impl PythonScratch {
    /// Puts the merged stack into the path. `kind` is what stands below everything.
    pub fn merge(
        &mut self,
        arena: &Arena,
        trie: &Trie,
        caller: PythonCaller<'_>,
        kind: Option<Pseudo>,
        native: NativeStack<'_>,
    ) {
        let (thread, hash) = match caller {
            PythonCaller::Thread(thread, hash) => (thread, hash),
            PythonCaller::Maker(maker) => {
                return self.take_native(kind, native, |path| path.push_path(arena, trie, maker));
            }
            PythonCaller::None => return self.take_native(kind, native, |_| ()),
        };
        if self.checkpoint.holds(hash, kind, native.frames) {
            self.path.resume(self.checkpoint.depth);
            return self.take_above(thread, kind, native);
        }
        self.path.begin();
        self.path.push_all(kind);
        self.walk.read(thread, 0);
        self.path.push_all(native.bottom.or(self.walk.is_cut().then_some(Pseudo::TooDeep)));
        self.place_runs(arena, trie, thread, kind, native);
        self.checkpoint.python = hash;
    }

    /// Puts the stack outside an import and the modules that it loads into the path. `kind` is what stands below everything.
    pub fn merge_import(
        &mut self,
        arena: &Arena,
        trie: &Trie,
        (thread, import): (Thread<'_>, Import),
        kind: Option<Pseudo>,
        native: NativeStack<'_>,
    ) {
        self.forget_checkpoint();
        self.path.begin();
        self.path.push_all(kind);
        self.walk.read(thread, import.frame);
        self.path.push_all(native.bottom.or(self.walk.is_cut().then_some(Pseudo::TooDeep)));
        self.place_outside(arena, trie, thread, native);
        self.imports.push_modules(thread.known, arena, trie, &mut self.path);
    }

    /// As `place_runs`, up to the run that the import began in.
    fn place_outside(&mut self, arena: &Arena, trie: &Trie, thread: Thread<'_>, native: NativeStack<'_>) {
        let Self { walk, path, codes, .. } = self;
        let inside = walk.inside_import();
        // The frames of a run that lie outside: those that are left once it is taken lie further in.
        let mut emit = |path: &mut StackPath, run: &[PythonFrame], left: usize| {
            for frame in run[inside.saturating_sub(left).min(run.len())..].iter().rev() {
                if let Some(code) = codes.number(thread.known, arena, trie, frame.code) {
                    path.push(python_frame(code, frame.instruction));
                }
            }
        };
        let mut runs = Runs { left: walk.frames(), outer: native.end.get() };
        for frame in native.frames {
            while let Some(run) = runs.beyond() {
                emit(path, run, runs.left.len());
            }
            if runs.left.len() < inside.max(1) {
                return;
            }
            match runs.executed_by(thread, frame) {
                Some(run) => emit(path, run, runs.left.len()),
                None if thread.is_interpreter(frame) || native.is_own(frame) => {}
                None => path.push(frame.word),
            }
        }
        emit(path, runs.left, 0);
    }

    /// Visits the native frames from the outside in, each run instead of the frame that executes it.
    fn place_runs(
        &mut self,
        arena: &Arena,
        trie: &Trie,
        thread: Thread<'_>,
        kind: Option<Pseudo>,
        native: NativeStack<'_>,
    ) {
        let Self { walk, path, codes, checkpoint, .. } = self;
        let mut emit = |path: &mut StackPath, run: &[PythonFrame]| {
            for frame in run.iter().rev() {
                if let Some(code) = codes.number(thread.known, arena, trie, frame.code) {
                    path.push(python_frame(code, frame.instruction));
                }
            }
        };
        *checkpoint = Checkpoint::NONE;
        let innermost = thread.innermost_run(native.frames, walk);
        let mut runs = Runs { left: walk.frames(), outer: native.end.get() };
        for (index, frame) in native.frames.iter().enumerate() {
            while let Some(run) = runs.beyond() {
                emit(path, run);
            }
            match runs.executed_by(thread, frame) {
                Some(run) => emit(path, run),
                None if innermost.is_some_and(|innermost| index < innermost)
                    && thread.is_interpreter(frame) => {}
                None => native.push(path, thread, kind, frame),
            }
            if Some(index) == innermost && runs.left.is_empty() {
                *checkpoint = Checkpoint { python: 0, native: frame.hash, index, depth: path.depth(), kind };
            }
        }
        emit(path, runs.left);
    }

    fn take_above(&mut self, thread: Thread<'_>, kind: Option<Pseudo>, native: NativeStack<'_>) {
        for frame in &native.frames[self.checkpoint.index + 1..] {
            native.push(&mut self.path, thread, kind, frame);
        }
    }

    fn take_native(
        &mut self,
        kind: Option<Pseudo>,
        native: NativeStack<'_>,
        push_caller: impl FnOnce(&mut StackPath),
    ) {
        self.forget_checkpoint();
        self.path.begin();
        self.path.push_all(kind);
        self.path.push_all(native.bottom);
        push_caller(&mut self.path);
        native
            .frames
            .iter()
            .filter(|frame| !native.is_own(frame))
            .for_each(|frame| self.path.push(frame.word));
    }
}
impl NativeStack<'_> {
    fn is_own(&self, frame: &NativeFrame) -> bool {
        self.own_module != 0 && split_frame(frame.word).0 == self.own_module
    }

    /// Takes a frame above the innermost Python frame.
    fn push(&self, path: &mut StackPath, thread: Thread<'_>, kind: Option<Pseudo>, frame: &NativeFrame) {
        let is_makers = kind == Some(Pseudo::PythonObject) && thread.is_interpreter(frame);
        if !is_makers && !self.is_own(frame) {
            path.push(frame.word);
        }
    }
}

impl Thread<'_> {
    /// The index of the innermost native frame that executes Python.
    fn innermost_run(self, frames: &[NativeFrame], walk: &Walk) -> Option<usize> {
        match walk.frames().iter().find(|frame| frame.ends_run)?.address_inside {
            0 => frames.iter().rposition(|frame| self.evaluates(frame)),
            // Frames lie below each other: it is the first one that begins below the address.
            address => {
                Some(frames.partition_point(|frame| frame.slot() >= address)).filter(|&at| at < frames.len())
            }
        }
    }

    /// Whether a frame is in the code of the evaluation loop.
    pub(super) fn evaluates(&self, frame: &NativeFrame) -> bool {
        let (start, end) = self.known.evaluate;
        let address = split_frame(frame.word).1;
        address > start && address <= end
    }

    fn is_interpreter(&self, frame: &NativeFrame) -> bool {
        self.known.is_bare && split_frame(frame.word).0 == self.known.module
    }
}

/// The runs that are not placed yet, while native frames are visited from the outside in.
struct Runs<'w> {
    left: &'w [PythonFrame],
    /// Where the last native frame that was visited begins.
    outer: u64,
}

impl<'w> Runs<'w> {
    /// The outermost run, when its C frame lies outside of all that the native stack has: that was cut.
    fn beyond(&mut self) -> Option<&'w [PythonFrame]> {
        (self.left.last()?.address_inside >= self.outer).then(|| self.take())
    }

    /// The outermost run, when this native frame executes it.
    fn executed_by(&mut self, thread: Thread<'_>, frame: &NativeFrame) -> Option<&'w [PythonFrame]> {
        let outer = core::mem::replace(&mut self.outer, frame.slot());
        let executes = match self.left.last()?.address_inside {
            0 => thread.evaluates(frame),
            address => address > frame.slot() && address < outer,
        };
        executes.then(|| self.take())
    }

    fn take(&mut self) -> &'w [PythonFrame] {
        let run = outermost_run(self.left);
        self.left = &self.left[..self.left.len() - run.len()];
        run
    }
}

/// The frames from the outermost one inwards up to where the next run ends.
fn outermost_run(left: &[PythonFrame]) -> &[PythonFrame] {
    let inner = &left[..left.len() - 1];
    let start = inner.iter().rposition(|frame| frame.ends_run).map_or(0, |last_of_next| last_of_next + 1);
    &left[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(code: u64, ends_run: bool) -> PythonFrame {
        PythonFrame { code, instruction: 0, ends_run, address_inside: 0 }
    }

    #[test]
    fn runs_are_taken_from_the_outside_in() {
        // Innermost first: c | b a
        let frames = [frame(3, true), frame(2, false), frame(1, true)];
        let run = outermost_run(&frames);
        assert_eq!(run.iter().map(|frame| frame.code).collect::<std::vec::Vec<_>>(), [2, 1]);
        let rest = &frames[..frames.len() - run.len()];
        assert_eq!(outermost_run(rest).len(), 1);
    }
}
