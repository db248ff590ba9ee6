//! Two functions that the probe of a library is given: one that counts, for whoever called, and one that keeps words.

use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;

use heaplens_format::arena::Counter;
use heaplens_tracker::{Caller, tracker};

use super::interface::{self, ANY_ARGUMENTS, Interface, Method, ONE_ARGUMENT, Object};

type Function = unsafe extern "C" fn(Object, Object) -> Object;

static COUNT: Method = Method {
    name: c"count".as_ptr(),
    // SAFETY: passes both arguments and the caller's registers on; nobody calls it with others.
    function: Some(unsafe { core::mem::transmute::<unsafe extern "C" fn(), Function>(count) }),
    flags: ONE_ARGUMENT,
    doc: c"".as_ptr(),
};
static NOTE: Method =
    Method { name: c"note".as_ptr(), function: Some(note), flags: ANY_ARGUMENTS, doc: c"".as_ptr() };

/// Both as objects of Python, with their names; null where one cannot be made.
///
/// # Safety
/// The interpreter's lock is held.
pub unsafe fn functions(interface: &Interface) -> [(&'static CStr, Object); 2] {
    // SAFETY: as the caller says; the definitions live as long as the process.
    [(c"count", &COUNT), (c"note", &NOTE)]
        .map(|(name, method)| (name, unsafe { (interface.new_function)(method, null_mut(), null_mut()) }))
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

/// The counter is the low byte of the number; what is above says how many times, where that is more than once.
unsafe extern "C" fn on_count(_module: Object, number: Object, rsp: u64, rbp: u64) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter calls with its lock held; what is no number gives -1 and an exception, which is none of the
    // program's business.
    unsafe {
        let number = u64::try_from((interface.number)(number)).unwrap_or(0);
        match Counter::from_number(number & 0xff) {
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
        match u64::try_from(number).ok().and_then(Counter::from_number) {
            Some(counter) if is_parsed => tracker().on_note(counter, CStr::from_ptr(text).to_bytes()),
            _ => (interface.clear_error)(),
        }
        interface.nothing()
    }
}
