//! What we do inside an interpreter that is there from the start: a place before its allocator of small objects, a built-in
//! module for the package `heaplens`, and a probe that runs once before the program's first line.
//!
//! ```text
//!   constructor            first import              first event after initialisation      end of the script
//!   builtin::offer         allocator::take_place     probe::run, hook leaves               end_of_script
//!   audit::add             (the lock is held)        (site is imported, or a script run)   (atexit, last of all)
//! ```

mod allocator;
mod audit;
mod builtin;
pub mod collector;
mod interface;
mod probe;

use heaplens_tracker::{modules, python, tracker};

/// Prepares the interpreter, where there is one whose objects can be read. It has not begun to run.
pub fn watch() {
    if modules::exporting(python::THREAD_STATE).is_some() {
        tracker().python.pin();
    }
    // Not by `dlsym`: where it finds nothing it allocates words to say so.
    let Some(exports) = modules::exporting(c"PySys_AddAuditHook").filter(python::is_readable) else { return };
    if let Some(interface) = interface::find(&exports) {
        builtin::offer(&exports, interface);
    }
    audit::add(&exports);
}
