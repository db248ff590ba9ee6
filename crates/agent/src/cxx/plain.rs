//! Whether C++'s operators are *plain*: libstdc++'s own, on top of our `malloc` and `free`. Then what they do is known, and
//! the hooks call the real `malloc` and `free` at once instead of going through the real operator and a second hook.
//!
//! It is all or none. libstdc++'s forms end in each other (`new[]` in `new`, sized `delete` in plain `delete`) by symbols
//! that a program may replace one at a time, and then its replacement has to be asked.

use core::ffi::{CStr, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Family;
use heaplens_tracker::tracker;

use crate::c::checked;
use crate::c::real::{self, is_ours};

/// Set once the operators are found plain. Read by the hooks in assembly.
pub static PLAIN: AtomicBool = AtomicBool::new(false);

/// The forms that have a fast path.
const OPERATORS: [&CStr; 12] = [
    c"_Znwm",
    c"_Znam",
    c"_ZnwmRKSt9nothrow_t",
    c"_ZnamRKSt9nothrow_t",
    c"_ZdlPv",
    c"_ZdaPv",
    c"_ZdlPvm",
    c"_ZdaPvm",
    c"_ZdlPvRKSt9nothrow_t",
    c"_ZdaPvRKSt9nothrow_t",
    c"_ZdlPvSt11align_val_t",
    c"_ZdaPvSt11align_val_t",
];

/// Those with an alignment: libstdc++'s round the size up and end in `aligned_alloc`.
const ALIGNED: [&CStr; 4] = [
    c"_ZnwmSt11align_val_t",
    c"_ZnamSt11align_val_t",
    c"_ZnwmSt11align_val_tRKSt9nothrow_t",
    c"_ZnamSt11align_val_tRKSt9nothrow_t",
];
/// The families of blocks that plain operators give out.
pub const FAMILIES: [Family; 2] = [Family::New, Family::NewArray];

/// Whether the operators take the fast path.
#[inline(always)]
pub fn is_plain() -> bool {
    PLAIN.load(Relaxed)
}

/// Checks the operators. Called when the real ones have been found, which may be late: Python loads its C++ libraries
/// into a scope of their own.
#[cold]
pub fn check(libraries: &[&CStr]) {
    let apart = next(OPERATORS[0]).is_null();
    let handle = if apart { loaded(libraries) } else { core::ptr::null_mut() }; // a `dlopen` allocates
    let are_ours = [c"malloc", c"free"].into_iter().chain(OPERATORS).all(is_ours);
    let are_all = |is: &dyn Fn(*mut c_void) -> bool| {
        are_ours && OPERATORS.into_iter().all(|name| is(real_address(name, handle)))
    };
    let plain = !real::OTHER_ALLOCATOR.load(Relaxed)
        && are_all(&|address| is_of_library(address, &[b"libstdc++.so"]));
    tracker().set_operators_known(plain);
    // Of a program that is checked, blocks must be as large as our `malloc` makes them, whoever else could make them.
    let is_malloc = |address| real::is_of_allocator(address) || is_of_library(address, &LIBRARIES);
    let ends_in_malloc = checked::is_on() && are_all(&is_malloc);
    if ends_in_malloc {
        tracker().trust(&FAMILIES, true);
    }
    let is_libstdcxx =
        |name: &CStr| is_ours(name) && is_of_library(real_address(name, handle), &[b"libstdc++.so"]);
    if plain && checked::is_on() && ALIGNED.into_iter().all(is_libstdcxx) {
        tracker().trust(&[Family::AlignedNew, Family::AlignedNewArray], true);
    }
    PLAIN.store(plain || ends_in_malloc, Relaxed);
}

/// Implementations whose operators are `malloc` and `free`, and nothing else.
const LIBRARIES: [&[u8]; 3] = [b"libstdc++.so", b"libc++abi.so", b"libc++.so"];

/// A handle of the first of these libraries that is loaded, or null. It is kept: so is the library.
fn loaded(libraries: &[&CStr]) -> *mut c_void {
    libraries
        .iter()
        // SAFETY: RTLD_NOLOAD only finds what is loaded; the names are zero-terminated.
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) })
        .find(|handle| !handle.is_null())
        .unwrap_or(core::ptr::null_mut())
}

/// What our hook hides: in the search order, else in the library that is loaded apart.
fn real_address(name: &CStr, handle: *mut c_void) -> *mut c_void {
    match next(name) {
        // SAFETY: a zero-terminated name, and a handle from `dlopen`.
        address if address.is_null() && !handle.is_null() => unsafe { libc::dlsym(handle, name.as_ptr()) },
        address => address,
    }
}

fn next(name: &CStr) -> *mut c_void {
    // SAFETY: a zero-terminated name.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

fn is_of_library(address: *mut c_void, libraries: &[&[u8]]) -> bool {
    // SAFETY: the struct consists of pointers, for which zero is a value.
    let mut object: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: any address may be asked for; what comes back is valid while the library stays, which holds our handle.
    if address.is_null() || unsafe { libc::dladdr(address, &mut object) } == 0 || object.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the loader's names are zero-terminated.
    let path = unsafe { CStr::from_ptr(object.dli_fname) }.to_bytes();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    libraries.iter().any(|library| name.starts_with(library))
}
