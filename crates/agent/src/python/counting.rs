//! Functions that the probe of a library is given: one that gives a counter by its name, one that counts, for whoever called, one
//! that keeps words, and one that notes who made an operation.

use core::ffi::{CStr, c_char, c_int, c_long};
use core::ptr::null_mut;

use heaplens_format::arena::CounterId;
use heaplens_format::python_file::PROBE_FILE;
use heaplens_tracker::python::Line;
use heaplens_tracker::{Caller, tracker};

use super::interface::{self, ANY_ARGUMENTS, Function, Interface, Method, ONE_ARGUMENT, Object, WHOLE_FILE};

static COUNT: Method = Method {
    name: c"count".as_ptr(),
    // SAFETY: passes both arguments and the caller's registers on; nobody calls it with others.
    function: Some(unsafe { core::mem::transmute::<unsafe extern "C" fn(), Function>(count) }),
    flags: ONE_ARGUMENT,
    doc: c"".as_ptr(),
};
static COUNTER: Method =
    Method { name: c"counter".as_ptr(), function: Some(counter), flags: ANY_ARGUMENTS, doc: c"".as_ptr() };
static NOTE: Method =
    Method { name: c"note".as_ptr(), function: Some(note), flags: ANY_ARGUMENTS, doc: c"".as_ptr() };

static MADE: Method =
    Method { name: c"made".as_ptr(), function: Some(made), flags: ANY_ARGUMENTS, doc: c"".as_ptr() };

/// Runs a text of ours that is given these functions, with these names for its globals; whether it ran.
///
/// # Safety
/// The interpreter's lock is held, and `names` is a dictionary.
pub unsafe fn run(interface: &Interface, source: &CStr, names: Object) -> bool {
    // SAFETY: as the caller says; the dictionary takes references of its own, and what is made here is given back here.
    unsafe {
        let code = (interface.compile)(source.as_ptr(), PROBE_FILE.as_ptr(), WHOLE_FILE);
        if code.is_null() {
            return false;
        }
        let is_given = (interface.set_item)(names, c"__builtins__".as_ptr(), (interface.builtins)()) == 0
            && [(c"counter", &COUNTER), (c"count", &COUNT), (c"note", &NOTE), (c"made", &MADE)]
                .iter()
                .all(|(name, method)| give(interface, names, name, method));
        let result = if is_given { (interface.evaluate)(code, names, names) } else { null_mut() };
        (interface.release)(code);
        if !result.is_null() {
            (interface.release)(result);
        }
        !result.is_null()
    }
}

/// Puts a function into a dictionary; whether it is there.
///
/// # Safety
/// The interpreter's lock is held, and `names` is a dictionary.
unsafe fn give(interface: &Interface, names: Object, name: &CStr, method: &'static Method) -> bool {
    // SAFETY: as the caller says; the definition lives as long as the process.
    unsafe {
        let function = (interface.new_function)(method, null_mut(), null_mut());
        if function.is_null() {
            return false;
        }
        let is_set = (interface.set_item)(names, name.as_ptr(), function) == 0;
        (interface.release)(function);
        is_set
    }
}

#[unsafe(naked)]
unsafe extern "C" fn count() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "jmp {hook}",
        ".cfi_endproc",
        hook = sym on_count)
}

/// `counter("name")`: the number that the others are given for it; 0, which counts nothing, where there are too many.
unsafe extern "C" fn counter(_module: Object, arguments: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    let mut name: *const c_char = core::ptr::null();
    // SAFETY: the interpreter calls with its lock held; the format says what is stored where, and the text lives as long as the
    // arguments.
    unsafe {
        if (interface.parse)(arguments, c"s".as_ptr(), &raw mut name) == 0 {
            return null_mut();
        }
        let number = tracker().counters.number(CStr::from_ptr(name).to_bytes());
        (interface.new_number)(number.map_or(0, |number| c_long::from(number.get())))
    }
}

/// The counter is the low byte of the number; what is above says how many times, where that is more than once.
unsafe extern "C" fn on_count(_module: Object, number: Object, rsp: u64, rbp: u64) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter calls with its lock held; what is no number gives -1 and an exception, which is none of the
    // program's business.
    unsafe {
        let number = u64::try_from((interface.number)(number)).unwrap_or(0);
        match CounterId::new(number & 0xff) {
            Some(counter) => tracker().on_count(counter, (number >> 8).max(1), Caller { rsp, rbp }),
            None => (interface.clear_error)(),
        }
        interface.nothing()
    }
}

unsafe extern "C" fn note(_module: Object, arguments: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    let (mut number, mut text): (c_int, *const c_char) = (0, core::ptr::null());
    // SAFETY: the interpreter calls with its lock held; the format says what is stored where, and the bytes live as long as
    // the arguments.
    unsafe {
        let is_parsed = (interface.parse)(arguments, c"iy".as_ptr(), &raw mut number, &raw mut text) != 0;
        match u64::try_from(number).ok().and_then(CounterId::new) {
            Some(counter) if is_parsed => tracker().on_note(counter, CStr::from_ptr(text).to_bytes()),
            _ => (interface.clear_error)(),
        }
        interface.nothing()
    }
}

/// `made(name)`, or `made(name, file, function, line)`; whether it is noted: else the line is asked for.
unsafe extern "C" fn made(_module: Object, arguments: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    let [mut name, mut file, mut function] = [core::ptr::null::<c_char>(); 3];
    let mut line: c_int = 0;
    // SAFETY: the interpreter calls with its lock held; the format says what is stored where, and the bytes live as long as
    // the arguments.
    unsafe {
        let is_parsed = (interface.parse)(
            arguments,
            c"y|yyi".as_ptr(),
            &raw mut name,
            &raw mut file,
            &raw mut function,
            &raw mut line,
        ) != 0;
        if !is_parsed {
            (interface.clear_error)();
            return interface.nothing();
        }
        let number = u32::try_from(line).unwrap_or(0);
        let text = |text: *const c_char| CStr::from_ptr(text).to_bytes();
        let line = (!function.is_null()).then(|| Line { file: text(file), function: text(function), number });
        (interface.truth)(c_long::from(tracker().on_operation(text(name), line)))
    }
}
