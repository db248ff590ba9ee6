//! What we do inside an interpreter that has not begun to run: hooks of its allocator of small objects, a built-in
//! module for the package `heaplens`, and a probe that runs once before the program's first line.
//!
//! ```text
//!   constructor, dlsym     first import              first event after initialisation      end of the script
//!   builtin::offer         allocator::install        probe::run, hook leaves               end_of_script
//!   audit::add             (the lock is held)        (site is imported, or a script run)   (atexit, last of all)
//! ```

mod allocator;
mod audit;
mod builtin;
pub mod collector;
mod counting;
mod interface;
mod isolated;
mod probe;
pub mod probes;
mod script_end;

use core::ffi::CStr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use heaplens_tracker::modules::{self, interpreter};
use heaplens_tracker::{process, tracker};

/// By this function an interpreter is known that we can prepare.
const ADD_HOOK: &CStr = c"PySys_AddAuditHook";
/// That of the interpreter that was prepared; 0 while there is none. Of several the first one is met.
static PREPARED: AtomicUsize = AtomicUsize::new(0);
/// Whether it was there when the program began, so that it stays to its end.
static STAYS: AtomicBool = AtomicBool::new(false);
/// How many libraries had come when we last checked.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Prepares the interpreter that is there when the program begins.
pub fn watch() {
    if modules::exporting(interpreter::THREAD_STATE).is_some() {
        tracker().python().pin();
    }
    prepare();
    STAYS.store(is_prepared(), Relaxed);
}

/// Whether the interpreter may be called by a thread that it did not call, which cannot know that it is still there.
fn stays() -> bool {
    STAYS.load(Relaxed)
}

/// Whether there is an interpreter that was prepared.
pub fn is_prepared() -> bool {
    PREPARED.load(Relaxed) != 0
}

/// Whether it was not yet checked for this many libraries.
pub fn is_news(count: u64) -> bool {
    !is_prepared() && SEEN.load(Relaxed) != count
}

/// So many libraries have come, and an interpreter may be among them. While this runs, none comes or goes.
pub fn on_libraries(count: u64) {
    if is_news(count) {
        SEEN.store(count, Relaxed);
        prepare();
    }
}

/// A library may have gone. Where it was the interpreter, whatever of it leads to us has gone with it, and what of us leads
/// to it is forgotten: another one may come. While this runs, none does.
pub fn after_unload() {
    let function = PREPARED.load(Relaxed);
    if function != 0 && !modules::defines(function as u64, ADD_HOOK) {
        audit::forget();
        builtin::forget();
        interface::forget();
        script_end::forget();
        probes::forget();
        PREPARED.store(0, Relaxed);
    }
}

/// Prepares an interpreter whose objects can be read and that has not begun to run.
fn prepare() {
    if process::settings().directory.is_empty() {
        return; // nobody would read it
    }
    // Not by `dlsym`: where it finds nothing it allocates words to say so.
    let Some(exports) = modules::exporting(ADD_HOOK).filter(interpreter::is_readable) else { return };
    let Some(function) = exports.find(ADD_HOOK).filter(|_| !is_prepared()) else { return };
    let interface = interface::find(&exports);
    if interface.is_some_and(interface::has_begun) {
        return interface::forget();
    }
    if let Some(interface) = interface {
        builtin::offer(&exports, interface);
    }
    audit::add(&exports);
    PREPARED.store(function.address as usize, Relaxed);
}
