//! Libraries that come after the start, and leave before the end.
//!
//! `dlopen` is not hooked: it finds its caller's run path by its return address, which a hook that calls it would replace.
//! But what a program wants of a library that it loaded, it asks for by name first. So `dlsym` looks for what has come, and
//! then jumps to the real function, which finds the caller's own return address: "the next one" is the next after the caller.
//!
//! What reads the list of libraries does so while the loader lets none come or go. Two threads that ask at once wait for each other:
//! when the second one has its answer, what came is prepared.

use core::arch::naked_asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_tracker::process::{self, Life};
use heaplens_tracker::tracker;

use crate::c::real;
use crate::python;
use crate::start::is_ready;

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// A program that loads one library after the other is checked again when it next asks.
const MOST_LOOKS: u32 = 3;

/// The real `dlsym`; 0 until it was asked for.
static DLSYM: AtomicUsize = AtomicUsize::new(0);

/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlsym() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {before}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym before_dlsym)
}

/// The address of the real function. We use it ourselves to find all others, so that it comes before them.
extern "C" fn before_dlsym() -> usize {
    if is_ready() && !python::is_prepared() && may_wait() {
        check_libraries();
    }
    match DLSYM.load(Relaxed) {
        0 => resolve(),
        known => known,
    }
}

/// Whether the loader's lock can be waited for. A forked child may find it taken by a thread that it does not have: glibc
/// gives it back there for `dlsym`, but not for reading the list.
fn may_wait() -> bool {
    process::life() == Life::Recording && !process::is_forked()
}

/// Checks what has come. Another thread may be about to load it: it is on the loader's list before its addresses are in
/// order, and its code must not be called yet. So that is waited for; where more has come meanwhile, once more.
fn check_libraries() {
    for _ in 0..MOST_LOOKS {
        let before = while_none_comes_or_goes(|count| count);
        if !python::is_news(before) {
            return;
        }
        wait_for_loader();
        while_none_comes_or_goes(|now| {
            if now == before {
                python::on_libraries(now);
            }
        });
    }
}

/// `dladdr` takes the lock that `dlopen` has from its beginning to its end.
fn wait_for_loader() {
    // SAFETY: the struct consists of pointers; the function only looks up where we are.
    unsafe { libc::dladdr(dlsym as *const c_void, &mut core::mem::zeroed()) };
}

/// By its oldest version, which every libc has; `dlsym` would be this very hook.
#[cold]
fn resolve() -> usize {
    const NAME: &CStr = c"dlsym";
    const VERSION: &CStr = c"GLIBC_2.2.5";
    // SAFETY: both are zero-terminated.
    let address = unsafe { dlvsym(libc::RTLD_NEXT, NAME.as_ptr(), VERSION.as_ptr()) } as usize;
    DLSYM.store(address, Relaxed);
    address
}

/// Does something while the loader lets no library come or go. It gets the number of those that ever came.
fn while_none_comes_or_goes<R: Default, W: FnOnce(u64) -> R>(work: W) -> R {
    unsafe extern "C" fn call<R, W: FnOnce(u64) -> R>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        task: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes the first object, and the task below.
        let (info, task) = unsafe { (&*info, &mut *task.cast::<Task<R, W>>()) };
        task.result = task.work.take().map(|work| work(info.dlpi_adds));
        1 // no other object is wanted
    }
    let mut task = Task { work: Some(work), result: None };
    // SAFETY: the function has the type that is asked for, and the task outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(call::<R, W>), (&raw mut task).cast()) };
    task.result.unwrap_or_default()
}

struct Task<R, W> {
    work: Option<W>,
    result: Option<R>,
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let Some(real) = real::DLCLOSE.get().filter(|_| is_ready()) else { return -1 };
    tracker().before_unload();
    // SAFETY: the real function with the program's own argument. No guard: destructors run, and what they do counts.
    let status = unsafe { real(handle) };
    tracker().after_unload();
    if python::is_prepared() && may_wait() {
        while_none_comes_or_goes(|_| python::after_unload());
    }
    status
}
