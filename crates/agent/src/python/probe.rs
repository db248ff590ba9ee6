//! Runs the probe: Python code of ours, in the program's interpreter, once. Whatever goes wrong in it is counted, and the
//! program does not notice.

use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr};

use heaplens_format::Loss;
use heaplens_format::python_file::PROBE_FILE;
use heaplens_tracker::tracker;

use super::interface::{self, Interface, Method, NO_ARGUMENTS, ONE_ARGUMENT, Object, WHOLE_FILE};
use super::{allocator, builtin};
use crate::returns;

/// The text of the probe, which is Python.
static SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../../../python/probe/probe.py"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the probe is a text"),
};

static END_OF_SCRIPT: Method = Method {
    name: c"end_of_script".as_ptr(),
    function: Some(end_of_script),
    flags: NO_ARGUMENTS,
    doc: c"".as_ptr(),
};
/// As an object of Python.
static END_OF_SCRIPT_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static KEEP: Method =
    Method { name: c"keep".as_ptr(), function: Some(keep), flags: ONE_ARGUMENT, doc: c"".as_ptr() };
/// Whether the module `atexit` was made, where that makes a registry.
static HAS_REGISTRY: AtomicBool = AtomicBool::new(false);

/// The interpreter has gone, and with it what was made in it.
pub fn forget() {
    END_OF_SCRIPT_OBJECT.store(null_mut(), Relaxed);
    HAS_REGISTRY.store(false, Relaxed);
}

/// Runs the probe. The interpreter is up, its lock is held, and this was not called before.
pub fn run(interface: &Interface) {
    // SAFETY: as the caller says.
    unsafe { unnoticed(interface, || prepare(interface) && execute(interface)) };
}

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
            (interface.interrupt)(); // the user's wish came to the wrong place
        }
        (interface.clear_error)();
        (interface.restore_error)(kind, value, trace);
        result
    }
}

/// Makes what stays. Up to 3.9 a registry comes with the module `atexit`: until it is made, ours stands in its place.
fn prepare(interface: &Interface) -> bool {
    let is_made = !end_object(interface).is_null();
    if let (Some(at_exit), None, false) = (interface.at_exit, interface.is_debug, HAS_REGISTRY.load(Relaxed))
        && builtin::is_offered()
    {
        // SAFETY: under the interpreter's lock. `make_atexit` would have told of a registry. A debug build insists that
        // there is one function for all times.
        unsafe { at_exit(Some(end_without_registry), null_mut()) };
    }
    is_made
}

/// [`end_of_script`] as an object of Python, made once and never given back; null when it cannot be made.
fn end_object(interface: &Interface) -> Object {
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
    let object = end_object(interface);
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
    returns::at_end_of_script();
    // SAFETY: the interpreter calls with its lock held.
    interface::get().map_or(null_mut(), |interface| unsafe { interface.nothing() })
}

unsafe extern "C" fn keep(_module: Object, object: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter calls with its lock held; the probe gives objects that the collector knows.
    unsafe {
        (interface.hold)(object);
        (interface.untrack)(object);
        interface.nothing()
    }
}

unsafe extern "C" fn end_without_registry(_module: Object) {
    tracker().on_end_of_script();
    returns::at_end_of_script();
}

/// Compiles and runs the source in a dictionary of its own.
fn execute(interface: &Interface) -> bool {
    // SAFETY: under the interpreter's lock; every object that is made here is given back here, borrowed ones are not.
    unsafe {
        let code = (interface.compile)(SOURCE.as_ptr(), PROBE_FILE.as_ptr(), WHOLE_FILE);
        if code.is_null() {
            return false;
        }
        let names = (interface.new_dict)();
        let is_done = !names.is_null() && evaluate(interface, code, names);
        if !names.is_null() {
            (interface.clear_dict)(names); // functions refer to it and it to them
            (interface.release)(names);
        }
        (interface.release)(code);
        is_done
    }
}

/// # Safety
/// The interpreter's lock is held; `code` and `names` are what they are called.
unsafe fn evaluate(interface: &Interface, code: Object, names: Object) -> bool {
    // SAFETY: as the caller says. The dictionary takes references of its own; only `keep` is ours to give back.
    unsafe {
        let keep = (interface.new_function)(&KEEP, null_mut(), null_mut());
        let builtins = (interface.builtins)();
        let given = [(c"__builtins__", builtins), (c"end_of_script", end_object(interface)), (c"keep", keep)];
        let is_given = given.iter().all(|&(name, object)| {
            !object.is_null() && (interface.set_item)(names, name.as_ptr(), object) == 0
        });
        if !keep.is_null() {
            (interface.release)(keep);
        }
        if !is_given {
            return false;
        }
        let result = (interface.evaluate)(code, names, names);
        if result.is_null() {
            return false;
        }
        (interface.release)(result);
        true
    }
}
