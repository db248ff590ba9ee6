//! The end of a script, before the interpreter takes down what it built. Python's `atexit` calls us last of all, so that what the
//! program's own handlers release is released by then.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use heaplens_tracker::tracker;

use super::interface::{self, Interface, Method, NO_ARGUMENTS, Object};
use super::isolated::unnoticed;
use crate::lifecycle::reclaim;

static END_OF_SCRIPT: Method = Method {
    name: c"end_of_script".as_ptr(),
    function: Some(end_of_script),
    flags: NO_ARGUMENTS,
    doc: c"".as_ptr(),
};
/// As an object of Python.
static END_OF_SCRIPT_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Whether the module `atexit` was made, where that makes a registry.
static HAS_REGISTRY: AtomicBool = AtomicBool::new(false);

/// The interpreter has gone, and with it what was made in it.
pub fn forget() {
    END_OF_SCRIPT_OBJECT.store(null_mut(), Relaxed);
    HAS_REGISTRY.store(false, Relaxed);
}

/// Up to 3.9 a registry comes with the module `atexit`: until it is made, ours stands in for it. Only where we see it being
/// made.
pub fn stand_in_for_registry(interface: &Interface) {
    if let (Some(at_exit), None, false) = (interface.at_exit, interface.is_debug, HAS_REGISTRY.load(Relaxed))
    {
        // SAFETY: under the interpreter's lock. `make_atexit` would have reported a registry. A debug build insists that
        // there is one function for all times.
        unsafe { at_exit(Some(end_without_registry), null_mut()) };
    }
}

/// [`end_of_script`] as an object of Python, made once and never given back; null when it cannot be made.
pub fn object(interface: &Interface) -> Object {
    let made = END_OF_SCRIPT_OBJECT.load(Relaxed);
    if !made.is_null() {
        return made;
    }
    // SAFETY: under the interpreter's lock; the definition lives as long as the process.
    let object = unsafe { (interface.new_function)(&END_OF_SCRIPT, null_mut(), null_mut()) };
    if !object.is_null() {
        // SAFETY: an object of a kind that the collector knows. Out of its lists nobody comes across it, and since it is
        // never given back, nobody asks for it there.
        unsafe { (interface.untrack)(object) };
        END_OF_SCRIPT_OBJECT.store(object, Relaxed);
    }
    object
}

/// The module `atexit` was just made, and with it a registry: ours is the first in it, hence the last to be called.
///
/// # Safety
/// The interpreter's lock is held.
pub unsafe fn on_registry(interface: &Interface, module: Object) {
    // SAFETY: as the caller says.
    if unsafe { !interface.is_main() } {
        return;
    }
    HAS_REGISTRY.store(true, Relaxed);
    // SAFETY: as the caller says.
    unsafe { unnoticed(interface, || register(interface, module)) };
}

/// # Safety
/// The interpreter's lock is held, and `module` is `atexit`.
unsafe fn register(interface: &Interface, module: Object) -> bool {
    let object = object(interface);
    // SAFETY: as the caller says; both results are ours to give back.
    unsafe {
        let function = (interface.get_attribute)(module, c"register".as_ptr());
        if function.is_null() || object.is_null() {
            return false;
        }
        let result = (interface.call)(function, object, null_mut::<c_void>());
        (interface.release)(function);
        if result.is_null() {
            return false;
        }
        (interface.release)(result);
        true
    }
}

unsafe extern "C" fn end_of_script(_module: Object, _arguments: Object) -> Object {
    tracker().on_end_of_script();
    reclaim::at_end_of_script();
    // SAFETY: the interpreter calls with its lock held.
    interface::get().map_or(null_mut(), |interface| unsafe { interface.nothing() })
}

unsafe extern "C" fn end_without_registry(_module: Object) {
    tracker().on_end_of_script();
    reclaim::at_end_of_script();
}
