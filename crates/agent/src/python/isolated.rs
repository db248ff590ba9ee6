//! Work of ours in the program's interpreter, of which the program notices nothing.

use core::ptr::null_mut;

use heaplens_format::Loss;
use heaplens_tracker::tracker;

use super::allocator;
use super::interface::Interface;

/// Does something of ours in the interpreter: what it allocates is not the program's, and what goes wrong is a loss.
///
/// # Safety
/// The interpreter's lock is held, and `work` keeps it.
pub(super) unsafe fn unnoticed(interface: &Interface, work: impl FnOnce() -> bool) {
    // SAFETY: as the caller says.
    if unsafe { !allocator::without_recording(|| undisturbed(interface, work)) } {
        tracker().lose(Loss::ProbeFailed);
    }
}

/// Leaves the exception that may be on its way as it is, and drops what `work` raises. No garbage is collected meanwhile:
/// that would run code of the program.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn undisturbed(interface: &Interface, work: impl FnOnce() -> bool) -> bool {
    let (mut kind, mut value, mut trace) = (null_mut(), null_mut(), null_mut());
    // SAFETY: as the caller says; what was fetched is given back.
    unsafe {
        (interface.fetch_error)(&mut kind, &mut value, &mut trace);
        let was_collecting = interface.disable_collector.is_some_and(|disable| disable() != 0);
        let result = work();
        if let (true, Some(enable)) = (was_collecting, interface.enable_collector) {
            enable();
        }
        if !result && (interface.error_is)(*interface.interrupted) != 0 {
            (interface.interrupt)(); // the user's wish came to the wrong code
        }
        (interface.clear_error)();
        (interface.restore_error)(kind, value, trace);
        result
    }
}
