//! The one function of ours that programs call by its name: it marks a moment.

use core::ffi::{CStr, c_char};

use heaplens_tracker::tracker;

use crate::is_ready;

/// Marks this moment with a label in UTF-8. The program finds it by `dlsym`, or declares it weak and looks whether it is there.
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
