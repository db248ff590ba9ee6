//! From a native stack and a Python stack to one: each C frame that executes Python becomes the run of Python frames that
//! it executes, and the interpreter's other frames go, but for those between the innermost Python frame and the hook.
//!
//! ```text
//!   native   main · run_file · EVAL₁ · vectorcall · callback (C++) · PyObject_Call · EVAL₂ · list_append · malloc
//!   Python                     a → b                                              c
//!   merged                     a · b ·              callback (C++) ·               c    · list_append
//! ```
//!
//! Which C frame executes which run is known by place: the interpreter keeps a record of each run inside that C frame.

use heaplens_format::arena::Pseudo;
use heaplens_format::arena::python::python_frame;
use heaplens_format::arena::table::split_frame;

use super::path::Path;
use super::walk::{PythonFrame, Walk};
use super::{Room, Thread};
use crate::arena::Arena;
use crate::trie::Trie;

/// A native frame: where its return address is, and the frame as the trie keeps it.
#[derive(Clone, Copy, Debug)]
pub struct NativeFrame {
    /// Everything of the frame lies above this address.
    pub slot: u64,
    /// Module and return address.
    pub word: u64,
}

/// A native stack, outermost frame first.
#[derive(Clone, Copy, Debug)]
pub struct NativeStack<I> {
    /// The frames.
    pub frames: I,
    /// Where the stack ends.
    pub end: u64,
    /// Why it is incomplete.
    pub bottom: Option<Pseudo>,
}

impl Room {
    /// Puts the merged stack into the room's path. `ground` is what stands below everything.
    pub fn merge<I: Iterator<Item = NativeFrame> + Clone>(
        &mut self,
        arena: &Arena,
        trie: &Trie,
        thread: Option<Thread<'_>>,
        ground: Option<Pseudo>,
        native: &NativeStack<I>,
    ) {
        self.path.clear();
        if let Some(ground) = ground {
            self.path.push(ground.frame());
        }
        match thread {
            Some(thread) => self.merge_python(arena, trie, thread, native),
            None => {
                native.bottom.iter().for_each(|reason| self.path.push(reason.frame()));
                native.frames.clone().for_each(|frame| self.path.push(frame.word));
            }
        }
    }

    fn merge_python<I: Iterator<Item = NativeFrame> + Clone>(
        &mut self,
        arena: &Arena,
        trie: &Trie,
        thread: Thread<'_>,
        native: &NativeStack<I>,
    ) {
        self.walk.read(thread);
        let Self { walk, path, codes, .. } = self;
        if let Some(reason) = native.bottom.or(walk.is_cut().then_some(Pseudo::TooDeep)) {
            path.push(reason.frame());
        }
        let mut emit = |path: &mut Path, run: &[PythonFrame]| {
            for frame in run.iter().rev() {
                if let Some(code) = codes.number(thread.known, arena, trie, frame.code) {
                    path.push(python_frame(code, frame.instruction));
                }
            }
        };
        let innermost = thread.innermost_run(native, walk);
        let mut runs = Runs { left: walk.frames(), outer: native.end };
        for (index, frame) in native.frames.clone().enumerate() {
            while let Some(run) = runs.beyond() {
                emit(path, run);
            }
            match runs.executed_by(thread, frame) {
                Some(run) => emit(path, run),
                None if innermost.is_some_and(|innermost| index < innermost)
                    && thread.is_interpreter(frame) => {}
                None => path.push(frame.word),
            }
        }
        emit(path, runs.left);
    }
}

impl Thread<'_> {
    /// The index of the innermost native frame that executes Python.
    fn innermost_run<I: Iterator<Item = NativeFrame> + Clone>(
        self,
        native: &NativeStack<I>,
        walk: &Walk,
    ) -> Option<usize> {
        let mut runs = Runs { left: walk.frames(), outer: native.end };
        let executes = native.frames.clone().map(|frame| {
            while runs.beyond().is_some() {}
            runs.executed_by(self, frame).is_some()
        });
        executes.enumerate().filter(|&(_, executes)| executes).last().map(|(index, _)| index)
    }

    fn is_interpreter(&self, frame: NativeFrame) -> bool {
        self.known.is_bare && split_frame(frame.word).0 == self.known.module
    }
}

/// The runs that are not placed yet, while native frames are passed from the outside in.
struct Runs<'w> {
    left: &'w [PythonFrame],
    /// Where the last native frame that was passed begins.
    outer: u64,
}

impl<'w> Runs<'w> {
    /// The outermost run, when its C frame lies outside of all that the native stack has: that was cut.
    fn beyond(&mut self) -> Option<&'w [PythonFrame]> {
        (self.left.last()?.place >= self.outer).then(|| self.take())
    }

    /// The outermost run, when this native frame executes it.
    fn executed_by(&mut self, thread: Thread<'_>, frame: NativeFrame) -> Option<&'w [PythonFrame]> {
        let outer = core::mem::replace(&mut self.outer, frame.slot);
        let executes = match self.left.last()?.place {
            0 => {
                let (start, end) = thread.known.evaluate;
                let address = split_frame(frame.word).1;
                address > start && address <= end
            }
            place => place > frame.slot && place < outer,
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
        PythonFrame { code, instruction: 0, ends_run, place: 0 }
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
