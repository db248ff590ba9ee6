//! The functions of ours that programs call by their names: one marks a moment, one takes a heap snapshot. A program finds
//! them by `dlsym`, or declares them weak and checks whether they are there.

use core::ffi::{CStr, c_char};

use heaplens_tracker::tracker;

use crate::start::is_ready;

/// Marks this moment with a label in UTF-8.
///
/// # Safety
/// The label is null or zero-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heaplens_mark(label: *const c_char) {
    if !label.is_null() && is_ready() {
        // SAFETY: as the caller says.
        tracker().on_user_mark(unsafe { CStr::from_ptr(label) });
    }
}

/// Takes a heap snapshot: waits until the recorder has a copy of the heap, ten seconds at most. It is a mark, too.
#[unsafe(no_mangle)]
pub extern "C" fn heaplens_snapshot() {
    if is_ready() {
        tracker().on_snapshot();
    }
}
