//! The functions of ours that programs call by their names: one marks a moment, one has the heap looked at. A program finds
//! them by `dlsym`, or declares them weak and looks whether they are there.

use core::ffi::{CStr, c_char};

use heaplens_tracker::{looks, tracker};

use crate::is_ready;

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

/// Has the heap looked at, and waits until there is an image of it, ten seconds at most. It is a mark, too.
#[unsafe(no_mangle)]
pub extern "C" fn heaplens_snapshot() {
    if is_ready() {
        looks::ask();
    }
}
