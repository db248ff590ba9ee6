//! Runs the probe: Python code of ours, in the program's interpreter, once. Whatever goes wrong in it is counted, and the
//! program does not notice.

use core::ffi::CStr;
use core::ptr::null_mut;

use heaplens_format::python_file::PROBE_FILE;

use super::interface::{self, Interface, Method, ONE_ARGUMENT, Object, WHOLE_FILE};
use super::isolated::unnoticed;
use super::{builtin, script_end};

/// The text of the probe, which is Python.
static SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../../../python/probe/probe.py"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the probe is a text"),
};

static KEEP: Method =
    Method { name: c"keep".as_ptr(), function: Some(keep), flags: ONE_ARGUMENT, doc: c"".as_ptr() };

/// Runs the probe. The interpreter is up, its lock is held, and this was not called before.
pub fn run(interface: &Interface) {
    // SAFETY: as the caller says.
    unsafe { unnoticed(interface, || prepare(interface) && execute(interface)) };
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

/// Makes what stays.
fn prepare(interface: &Interface) -> bool {
    let is_made = !script_end::object(interface).is_null();
    if builtin::is_offered() {
        script_end::stand_in_for_registry(interface);
    }
    is_made
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
        let given =
            [(c"__builtins__", builtins), (c"end_of_script", script_end::object(interface)), (c"keep", keep)];
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
