//! The probe of TensorFlow: Python code of ours that is put in place when TensorFlow has been imported, and never before.
//!
//! Nobody is asked for that: no import is watched. When code of TensorFlow first appears on a stack, `tracker::requests`
//! begins to take looks, and each look leaves a call with the interpreter, which makes it in its main thread between two
//! instructions. The call tries what is there by then; it is made again until all is in place, and then seldom, for what
//! comes with it later (Keras).

use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_tracker::requests::{NEVER, SELDOM, SOON};
use heaplens_tracker::{Guard, tracker};

use super::interface::{self, Interface, Object};
use super::{collector, counting, probe};

/// The text of the probe, which is Python.
static SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../../../python/probe/tensorflow.py"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the probe is a text"),
};

/// The names of the probe, a dictionary of Python's that stays; null until it was made.
static NAMES: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Lets the tracker take looks.
pub fn offer() {
    tracker().requests.offer_look(look);
}

/// The interpreter has gone, and with it what was made in it.
pub fn forget() {
    NAMES.store(null_mut(), Relaxed);
}

/// Where there is no interpreter, the program is a native one.
fn look(_guard: &Guard) {
    if collector::leave_for_main_thread(install_when_pending) == Some(false) {
        tracker().requests.look_again(SOON);
    }
}

unsafe extern "C" fn install_when_pending(_argument: *mut c_void) -> c_int {
    if let Some(interface) = interface::get() {
        let mut is_complete = None;
        // SAFETY: the interpreter calls with its lock held.
        unsafe {
            probe::unnoticed(interface, || {
                is_complete = names(interface).and_then(|names| install(interface, names));
                is_complete.is_some()
            });
        }
        tracker().requests.look_again(match is_complete {
            Some(true) => SELDOM,
            Some(false) => SOON,
            None => NEVER, // what has failed once would fail again, each time in the middle of the program
        });
    }
    0
}

/// The names of the probe, which is run when they are first asked for.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn names(interface: &Interface) -> Option<Object> {
    let known = NAMES.load(Relaxed);
    if !known.is_null() {
        return Some(known);
    }
    // SAFETY: as the caller says; what is made here is given back here, but for the dictionary, which stays.
    unsafe {
        let names = (interface.new_dict)();
        if names.is_null() {
            return None;
        }
        if !counting::run(interface, SOURCE, names) {
            (interface.release)(names);
            return None;
        }
        NAMES.store(names, Relaxed);
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
