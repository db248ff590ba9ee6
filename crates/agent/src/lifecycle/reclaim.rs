//! What comes back when it is asked for: Python's collector is run, then the C allocator gives its free memory back to the
//! system. What each returned is read from marks before and after it.
//!
//! It happens at the end of a script that repeated something, where Python itself would collect next, at the end of a native
//! program that ran for a while, and whenever somebody asks. Never with a signal handler on the stack, which may have
//! interrupted the holder of a lock, and never in a forked child.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::marks::MarkTag;
use heaplens_tracker::{Guard, Nesting, lifecycle, process, tracker};

use crate::c::real;
use crate::python::collector;

/// Lets tests be asked for.
pub fn offer() {
    tracker().requests.offer(on_request);
}

/// The script is through and the interpreter's lock is held.
pub fn at_end_of_script() {
    if !process::settings().passive && !process::is_forked() && tracker().has_iterations() {
        test_python();
    }
}

/// A native program is about to end, and no signal handler is on the stack.
pub fn at_exit(guard: &Guard) {
    if !process::settings().passive && !process::is_forked() && tracker().has_history() && can_trim() {
        lifecycle::before_test_at_exit();
        test_native(guard);
    }
}

/// Someone asked, and no signal handler is on the stack. An interpreter does it when it comes to it.
fn on_request(guard: &Guard) -> bool {
    match collector::leave_for_main_thread(test_when_pending) {
        Some(is_left) => is_left,
        None => {
            test_native(guard);
            tracker().on_tests_made();
            true
        }
    }
}

unsafe extern "C" fn test_when_pending(_argument: *mut c_void) -> c_int {
    test_python();
    tracker().on_tests_made();
    0
}

/// The interpreter's lock is held, and it expects that Python code runs.
fn test_python() {
    mark(MarkTag::BeforeTest);
    if collector::collect() {
        mark(MarkTag::Collected);
    }
    if trim() {
        mark(MarkTag::Trimmed);
    }
}

fn test_native(guard: &Guard) {
    tracker().on_test(guard, MarkTag::BeforeTest);
    if trim() {
        tracker().on_test(guard, MarkTag::Trimmed);
    }
}

fn mark(kind: MarkTag) {
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_test(&guard, kind);
    }
}

fn can_trim() -> bool {
    real::MALLOC_TRIM.get().is_some() && !real::OTHER_ALLOCATOR.load(Relaxed)
}

/// Gives free memory of glibc's allocator back; whether it is in use.
fn trim() -> bool {
    let real = real::MALLOC_TRIM.get().filter(|_| can_trim());
    // SAFETY: may be called at any time by a thread that holds no lock of the allocator.
    real.map(|trim| unsafe { trim(0) }).is_some()
}
