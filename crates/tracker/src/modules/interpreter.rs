//! The interpreter of this process: found by its exports when its code first appears on a stack, and what is known of it from then on.
//! The one function of it that is called is `PyGILState_GetThisThreadState`, a read of thread-local storage.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};

use heaplens_cpython::bytecode::Opcodes;
use heaplens_cpython::debug_offsets::Unreadable;
use heaplens_cpython::layout::Runs;
use heaplens_cpython::{Layout, Version, iterators, recognise};
use heaplens_format::arena::python::{Interpreter, Reading};

use super::loaded::defines;
use super::memory::Live;
use super::symbols::Exports;
use crate::tables::arena::Arena;

/// The one function of an interpreter that is called in a hook.
pub const THREAD_STATE: &CStr = c"PyGILState_GetThisThreadState";

type GetThreadState = unsafe extern "C" fn() -> *mut c_void;

/// The interpreter of this process.
#[derive(Debug)]
pub struct Python {
    /// `PyGILState_GetThisThreadState`; 0 while no interpreter was seen whose frames can be read, or while it may be going.
    thread_state: AtomicUsize,
    /// The same, whatever goes on.
    function: AtomicUsize,
    /// Calls of `dlclose` that have not come back.
    unloads: AtomicU32,
    /// Whether the interpreter was there when the program began, so that it stays to its end.
    is_pinned: AtomicBool,
    known: KnownCell,
}

/// What is known about the interpreter, written before `thread_state` is.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub(crate) layout: Layout,
    /// How its instructions are written.
    pub(crate) opcodes: &'static Opcodes,
    /// The address of `PyCode_Type`: whatever claims to be a code object has this type.
    pub(crate) code_type: u64,
    /// Where the evaluating function is.
    pub(crate) evaluate: (u64, u64),
    /// Its module.
    pub(crate) module: u16,
    /// Iterators whose progress can be read.
    pub(crate) types: iterators::Types,
    /// Whether the module is nothing but the interpreter, so that its frames can be left out of stacks.
    pub(crate) is_bare: bool,
}

/// Zero until then: the tables of the process take no room in the library's file.
#[derive(Debug)]
struct KnownCell(UnsafeCell<MaybeUninit<Known>>);
// SAFETY: written in `on_module` before the Release store of `thread_state`, or again in a forked child that has one
// thread; read after the Acquire load, where that was not 0.
unsafe impl Sync for KnownCell {}

/// A thread that has a Python state.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    pub(crate) known: &'a Known,
    pub(crate) state: u64,
}

impl Python {
    /// None was seen yet.
    pub const fn new() -> Self {
        Self {
            thread_state: AtomicUsize::new(0),
            function: AtomicUsize::new(0),
            unloads: AtomicU32::new(0),
            is_pinned: AtomicBool::new(false),
            known: KnownCell(UnsafeCell::new(MaybeUninit::zeroed())),
        }
    }

    /// The Python state of this thread.
    #[inline(always)]
    pub fn thread(&self) -> Option<Thread<'_>> {
        // Acquire: pairs with the Release in `on_module`.
        let function = self.thread_state.load(Acquire);
        if function == 0 { None } else { self.thread_of(function) }
    }

    #[inline]
    fn thread_of(&self, function: usize) -> Option<Thread<'_>> {
        // SAFETY: the address of the function of this name and signature; it reads a word of thread-local storage.
        let state = unsafe { core::mem::transmute::<usize, GetThreadState>(function)() } as u64;
        // SAFETY: see `KnownCell`; the function comes from `thread_state`.
        let known = unsafe { (*self.known.0.get()).assume_init_ref() };
        (state != 0).then_some(Thread { known, state })
    }

    /// The interpreter was there when the program began.
    pub fn pin(&self) {
        self.is_pinned.store(true, Relaxed);
    }

    /// A library is about to be unloaded, which may be the interpreter: until it is known, its function is not called.
    pub fn before_unload(&self) {
        if !self.is_pinned.load(Relaxed) {
            self.unloads.fetch_add(1, AcqRel);
            self.thread_state.store(0, Release);
        }
    }

    /// It was, or was not.
    pub fn after_unload(&self) {
        if self.is_pinned.load(Relaxed) || self.unloads.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let function = self.function.load(Relaxed);
        if function != 0 && defines(function as u64, THREAD_STATE) {
            self.thread_state.store(function, Release);
        } else {
            self.function.store(0, Relaxed);
        }
    }

    /// A module appeared on a stack for the first time: it may be an interpreter.
    #[cold]
    pub fn on_module(&self, arena: &Arena, number: u16, path: &[u8], exports: &Exports) {
        let Some(function) = exports.find(THREAD_STATE) else { return };
        let (interpreter, layout) = recognised(exports);
        let seen = Interpreter::from_raw(arena.header().python.load(Relaxed));
        if seen.is_none_or(|seen| seen.reading != Reading::Frames) {
            arena.header().python.store(interpreter.raw(), Relaxed);
        }
        let opcodes = Opcodes::of(Version::new(interpreter.major, interpreter.minor));
        let code_type = exports.find(c"PyCode_Type");
        let (Some(layout), Some(opcodes), Some(code_type)) = (layout, opcodes, code_type) else { return };
        let evaluate = exports.find(c"_PyEval_EvalFrameDefault");
        if layout.frame.runs == Runs::Single && evaluate.is_none() {
            return;
        }
        let known = Known {
            layout,
            opcodes,
            code_type: code_type.address,
            evaluate: evaluate.map_or((0, 0), |symbol| (symbol.address, symbol.address + symbol.size)),
            module: number,
            types: iterators::Types::of(|name| address(exports, name), &layout),
            is_bare: is_bare(path),
        };
        let other = self.function.load(Relaxed);
        if self.is_known(function.address as usize, number) {
            return; // others may be reading
        }
        if self.unloads.load(Relaxed) == 0 && (other == 0 || other == function.address as usize) {
            // SAFETY: see `KnownCell`; the same interpreter in a forked child differs by its number alone.
            unsafe { (*self.known.0.get()).write(known) };
            self.function.store(function.address as usize, Relaxed);
            self.thread_state.store(function.address as usize, Release);
        }
    }
}

impl Python {
    /// Whether everything about the interpreter of this module stands there already.
    fn is_known(&self, function: usize, number: u16) -> bool {
        // SAFETY: see `KnownCell`; where the function is there, so is the rest.
        let known = || unsafe { (*self.known.0.get()).assume_init_ref() };
        function != 0 && self.thread_state.load(Acquire) == function && known().module == number
    }
}

impl Default for Python {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether the frames and objects of the interpreter with these exports can be read.
pub fn is_readable(exports: &Exports) -> bool {
    recognised(exports).1.is_some()
}

/// What is known of an interpreter from its exports, and its layout where frames can be read.
fn recognised(exports: &Exports) -> (Interpreter, Option<Layout>) {
    let (version, layout) = recognise::recognise(&Live, |name| address(exports, name));
    let reading = match layout {
        Ok(_) => Reading::Frames,
        Err(Unreadable::UnknownVersion) => Reading::UnknownVersion,
        Err(Unreadable::FreeThreaded) => Reading::FreeThreaded,
        Err(Unreadable::DebugBuild) => Reading::DebugBuild,
    };
    (Interpreter { reading, major: version.major, minor: version.minor }, layout.ok())
}

fn address(exports: &Exports, name: &CStr) -> Option<u64> {
    exports.find(name).map(|symbol| symbol.address)
}

/// Whether a file is named as interpreters are: `python3.11`, `libpython3.11.so.1.0`. In any other program that has the
/// interpreter in it the frames of its own functions must stay.
fn is_bare(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"python") || name.starts_with(b"libpython")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_known_by_their_names() {
        assert!(is_bare(b"/usr/bin/python3.11") && is_bare(b"/opt/lib/libpython3.13.so.1.0"));
        assert!(!is_bare(b"/usr/bin/blender") && !is_bare(b""));
    }
}
