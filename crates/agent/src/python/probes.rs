//! Probes of frameworks: Python code of ours that is put in place when a framework has been imported, and never before.
//!
//! Nobody is asked for that: no import is watched. When code of a framework first appears on a stack, the tracker's
//! `LibraryWatch` begins to make checks, and each check leaves a call with the interpreter, which makes it in its main thread between two
//! instructions. The call tries what is there by then; it is made again until all is in place, and then seldom, for what
//! comes with it later.
//!
//! A probe is given what `counting` has, and has a function `install` that says whether all is in place.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};

use heaplens_tracker::modules::{LibraryWatch, NEVER, SELDOM, SOON, WatchedLibraries};
use heaplens_tracker::tracker;

use super::interface::{self, Interface, Object};
use super::{collector, counting, isolated};
use crate::frameworks::{self, Framework};

/// The names of each probe, a dictionary of Python's that stays; null until it was made.
static NAMES: [AtomicPtr<c_void>; frameworks::ALL.len()] =
    [const { AtomicPtr::new(null_mut()) }; frameworks::ALL.len()];
/// Those that failed, a bit for each: what has failed once would fail again, each time in the middle of the program.
static FAILED: AtomicU32 = AtomicU32::new(0);
const _: () = assert!(frameworks::ALL.len() <= u32::BITS as usize);

static WATCHED: WatchedLibraries = WatchedLibraries { recognise, check };

/// Lets the tracker watch for them.
pub fn offer() {
    watch().begin(&WATCHED);
}

fn watch() -> &'static LibraryWatch {
    &tracker().unwinder.modules.watch
}

/// The interpreter has gone, and with it what was made in it.
pub fn forget() {
    NAMES.iter().for_each(|names| names.store(null_mut(), Relaxed));
    FAILED.store(0, Relaxed);
}

/// The frameworks that an object file is of, a bit for each.
fn recognise(path: &[u8]) -> u32 {
    let has = |part: &str| path.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    let is_of = |framework: &Framework| framework.modules.iter().any(|part| has(part));
    (0..).zip(frameworks::ALL).fold(0, |found, (at, framework)| found | u32::from(is_of(framework)) << at)
}

/// Where there is no interpreter, the program is a native one.
fn check() {
    if collector::leave_for_main_thread(install_when_pending) == Some(false) {
        watch().check_again(SOON);
    }
}

unsafe extern "C" fn install_when_pending(_argument: *mut c_void) -> c_int {
    if let Some(interface) = interface::get() {
        let seen = watch().seen() & !FAILED.load(Relaxed);
        let turns = (0..frameworks::ALL.len()).filter(|at| seen >> at & 1 != 0).map(|at| {
            // SAFETY: the interpreter calls with its lock held.
            unsafe { install_probe(interface, at) }
        });
        watch().check_again(turns.min().unwrap_or(NEVER));
    }
    0
}

/// Puts in place what can be of one; how soon it is to be tried again.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn install_probe(interface: &Interface, at: usize) -> u32 {
    let mut is_complete = None;
    // SAFETY: as the caller says.
    unsafe {
        isolated::unnoticed(interface, || {
            is_complete = names(interface, at).and_then(|names| install(interface, names));
            is_complete.is_some()
        });
    }
    match is_complete {
        Some(true) => SELDOM,
        Some(false) => SOON,
        None => {
            FAILED.fetch_or(1 << at, Relaxed);
            NEVER
        }
    }
}

/// The names of a probe, which is run when they are first asked for.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn names(interface: &Interface, at: usize) -> Option<Object> {
    let known = NAMES[at].load(Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    // SAFETY: as the caller says; what is made here is given back here, but for the dictionary, which stays.
    unsafe {
        let names = (interface.new_dict)();
        if names.is_null() {
            return None;
        }
        if !counting::run(interface, frameworks::ALL[at].probe, names) {
            (interface.release)(names);
            return None;
        }
        NAMES[at].store(names, Relaxed);
        Some(names)
    }
}

/// Puts in place what can be; whether that is all. `None`: it failed.
///
/// # Safety
/// The interpreter's lock is held, and `names` are those of the probe.
unsafe fn install(interface: &Interface, names: Object) -> Option<bool> {
    // SAFETY: as the caller says; the function is borrowed, its result is ours.
    unsafe {
        let function = (interface.get_item)(names, c"install".as_ptr());
        if function.is_null() {
            return None;
        }
        let result = (interface.call)(function, null_mut::<c_void>());
        if result.is_null() {
            return None;
        }
        let is_complete = (interface.is_true)(result) == 1;
        (interface.release)(result);
        Some(is_complete)
    }
}
