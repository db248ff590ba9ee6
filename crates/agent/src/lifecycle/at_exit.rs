//! The exit code of the program, as libc gives it to its exit handlers.

use core::ffi::{c_int, c_void};

use heaplens_tracker::{lifecycle, tracker};

unsafe extern "C" {
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Asks libc for the exit code; a `return` from `main` calls no function that could be hooked.
pub fn watch() {
    // SAFETY: the function has the type that `on_exit` asks for and lives as long as the process.
    unsafe { on_exit(at_exit, core::ptr::null_mut()) };
}

extern "C" fn at_exit(code: c_int, _argument: *mut c_void) {
    leave(code);
}

/// The process ends with this code: what it leaves is checked, where somebody wants to know.
pub fn leave(code: c_int) {
    tracker().check_all_blocks();
    lifecycle::on_exit(code);
}
