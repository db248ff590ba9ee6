//! Imports of libraries, found on the Python stack. What happens while a module is loaded is told by the line that imports and by the modules
//! that are being loaded; the frames in between say nothing that anybody reads, and no two of their stacks are the same.
//!
//! ```text
//!   innermost                                                                                      outermost
//!   helper ── <module> of keras.layers ── import system ── <module> of keras ── import system ── train.py ── …
//!   └──────────────────────────────── folded ───────────────────────────────────────────────┘ └── as ever ──┘
//!             import keras.layers                           import keras
//! ```
//!
//! Nothing folds inside a frame of the user's own: a module of theirs that works while it is imported keeps its stacks. What runs as the program
//! (`python -m pytest`) is no import: nobody of the import system has called it.

use heaplens_cpython::layout::Runs;
use heaplens_format::arena::python::{NO_INSTRUCTION, python_frame};

use super::code_kinds::{CodeKind, CodeKinds};
use super::codes::{self, Looping};
use super::frames::STRIDE;
use super::identities::{Identities, Identity};
use super::path::StackPath;
use super::walk::{MOST_FRAMES, take_in};
use crate::modules::interpreter::{Known, Thread};
use crate::modules::memory::{Live, word};
use crate::objects::samples::Samples;
use crate::tables::arena::Arena;
use crate::tables::trie::{Trie, extend_hash};
use crate::unwind::memo::NativeFrame;

/// Modules that are being loaded inside each other; of more the innermost are named.
const MOST_MODULES: usize = 128;

/// What a frame says about the modules that are being loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Step {
    /// The frame.
    frame: u64,
    /// 1 where it is that of a module's own code, 0 where it looks for one by its name.
    is_module: u64,
}

/// The frames on the stack that say which modules are being loaded, and the kinds of code that a thread met lately. Zero pages are empty.
#[repr(C)]
pub(super) struct Imports {
    kinds: CodeKinds,
    /// Those of the last walk, innermost first.
    steps: [Step; MOST_MODULES],
    /// How many of them lie inside the import.
    count: usize,
}

/// An import that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    /// A number for the Python frames outside the import and the modules inside it.
    pub hash: u64,
    /// The innermost frame whose code has loops of the user's; 0 where none has.
    pub loop_frame: u64,
    /// The outermost frame of the import.
    pub(super) frame: u64,
    /// What tells its C frame.
    run: RunOfImport,
}

/// What tells the C frame that executes the outermost frame of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunOfImport {
    /// An address inside it.
    Address(u64),
    /// So many C frames that execute Python lie outside it.
    Number(usize),
}

/// What a walk has found so far.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// A number for all steps so far, and how many there were.
    modules: u64,
    steps: usize,
    /// The same at the outermost frame of the import system.
    inside: (u64, usize),
    /// That frame; 0 where there is none yet.
    outermost: u64,
    /// Runs that had ended before it.
    runs: usize,
    /// A number for the frames outside it, and how many these are.
    outside: u64,
    depth: u64,
}

impl Imports {
    /// The import that a thread is in; `None` where it is in none, or in code of the user's that an import has called.
    pub(super) fn find(
        &mut self,
        thread: Thread<'_>,
        looping: &Looping,
        identities: &mut Identities,
        samples: &Samples,
    ) -> Option<Import> {
        let known = thread.known;
        let layout = &known.layout;
        let mut identities = identities.now(known, samples);
        let (mut frame, mut loop_frame, mut is_inside) = (thread.innermost(), 0, true);
        let (mut at, mut ended, mut address) = (Progress::default(), 0, 0);
        for _ in 0..MOST_FRAMES {
            if frame == 0 {
                break;
            }
            if layout.frame.is_of_c(&Live, frame) {
                if address == 0 {
                    address = frame;
                }
            } else if let Some(Identity { code, identity }) = identities.of(frame) {
                if loop_frame == 0 && looping.has(code) {
                    loop_frame = frame;
                }
                let kind = if is_inside { self.kinds.of(known, code, identity) } else { CodeKind::User };
                match kind {
                    CodeKind::User if at.outermost == 0 => return None,
                    CodeKind::User => is_inside = false,
                    CodeKind::Module => self.step(&mut at, frame, true, identity),
                    CodeKind::Finder => self.step(
                        &mut at,
                        frame,
                        false,
                        codes::name_hash(known, code, first_variable(known, frame))?,
                    ),
                    CodeKind::ImportSystem | CodeKind::Library => {}
                }
                if matches!(kind, CodeKind::Finder | CodeKind::ImportSystem) {
                    at.leave_import(frame, ended);
                    address = 0;
                } else {
                    at.take_outside(identity ^ known.position(frame).rotate_left(48));
                }
                ended += usize::from(layout.frame.ends_run(&Live, frame));
            }
            frame = word(frame, layout.frame.previous);
        }
        let (modules, count) = at.inside;
        self.count = count.min(MOST_MODULES);
        if count == 0 {
            return None;
        }
        let run = run_of_import(thread, address, at.runs, ended)?;
        Some(Import { hash: extend_hash(modules, at.outside), loop_frame, frame: at.outermost, run })
    }

    fn step(&mut self, at: &mut Progress, frame: u64, is_module: bool, number: u64) {
        if let Some(step) = self.steps.get_mut(at.steps) {
            *step = Step { frame, is_module: u64::from(is_module) };
        }
        at.steps += 1;
        at.modules = extend_hash(at.modules, number ^ u64::from(is_module) << 63);
    }

    /// Adds the modules of the import that was found last to a path, the outermost first.
    pub(super) fn push_modules(&self, known: &Known, arena: &Arena, trie: &Trie, path: &mut StackPath) {
        let mut modules = [0; MOST_MODULES];
        let mut count = 0;
        let mut take = |number: Option<u32>| {
            if let (Some(number), Some(entry)) = (number, modules.get_mut(count)) {
                (*entry, count) = (number, count + 1);
            }
        };
        let by_file = |frame: u64| codes::import_of_file(known, arena, trie, frame);
        // A module's own code is called for whoever looks for it by its name; who reloads it does not.
        let (mut wants_name, mut unnamed) = (true, None);
        for step in &self.steps[..self.count] {
            if step.is_module != 0 {
                unnamed.replace(step.frame).into_iter().for_each(|frame| take(by_file(frame)));
                wants_name = true;
            } else if wants_name {
                take(codes::import_of_name(known, arena, trie, first_variable(known, step.frame)));
                (wants_name, unnamed) = (false, None);
            }
        }
        unnamed.into_iter().for_each(|frame| take(by_file(frame)));
        modules[..count].iter().rev().for_each(|&number| path.push(python_frame(number, NO_INSTRUCTION)));
    }
}

impl Progress {
    /// A frame of the import system: what was outside it until now is inside.
    fn leave_import(&mut self, frame: u64, ended: usize) {
        (self.inside, self.outermost, self.runs) = ((self.modules, self.steps), frame, ended);
        (self.outside, self.depth) = (0, 0);
    }

    fn take_outside(&mut self, position: u64) {
        self.depth = self.depth.wrapping_add(STRIDE);
        self.outside = take_in(self.outside, position, self.depth);
    }
}

impl Import {
    /// The index of the native frame that executes the outermost frame of the import.
    pub fn native_frame(&self, thread: Thread<'_>, frames: &[NativeFrame]) -> Option<usize> {
        match self.run {
            // Frames lie below each other: it is the first one that begins below the address.
            RunOfImport::Address(address) => Some(frames.partition_point(|frame| frame.slot() >= address)),
            RunOfImport::Number(outside) => frames
                .iter()
                .enumerate()
                .filter(|(_, frame)| thread.evaluates(frame))
                .nth(outside)
                .map(|(at, _)| at),
        }
        .filter(|&at| at < frames.len())
    }
}

/// What tells the C frame of the run with so many others inside it, when all of them are so many.
fn run_of_import(thread: Thread<'_>, address: u64, inside: usize, all: usize) -> Option<RunOfImport> {
    let layout = &thread.known.layout;
    let address = match layout.frame.runs {
        Runs::Single => return all.checked_sub(inside + 1).map(RunOfImport::Number),
        Runs::EntryFrame => address,
        Runs::SingleRecorded | Runs::EntryFlag => {
            let record = layout.thread.record?;
            let innermost = record.innermost_of(&Live, thread.state)?;
            (0..inside).try_fold(innermost, |at, _| record.previous_of(&Live, at).filter(|_| at != 0))?
        }
    };
    (address != 0).then_some(RunOfImport::Address(address))
}

/// The object that is the first variable of a frame; 0 where there is none.
fn first_variable(known: &Known, frame: u64) -> u64 {
    let layout = &known.layout.frame;
    layout.object(word(frame, layout.variables)).unwrap_or(0)
}
