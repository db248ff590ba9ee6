//! What a program says of its leaks, by the names that LeakSanitizer has for it: blocks that are kept on purpose, and checks while it runs.
//! Weak references of programs to these names find the functions here.

use core::ffi::{c_int, c_void};

use heaplens_format::Addr;
use heaplens_tracker::tracker;

use crate::start::is_ready;

/// This block is kept on purpose, and whatever it leads to.
#[unsafe(no_mangle)]
extern "C" fn __lsan_ignore_object(block: *const c_void) {
    if is_ready() && !block.is_null() {
        tracker().on_ignore(Addr::new(block as u64));
    }
}

/// What this thread allocates from now on is kept on purpose.
#[unsafe(no_mangle)]
extern "C" fn __lsan_disable() {
    if is_ready() {
        tracker().on_ignoring(true);
    }
}

/// No longer.
#[unsafe(no_mangle)]
extern "C" fn __lsan_enable() {
    if is_ready() {
        tracker().on_ignoring(false);
    }
}

/// Whether anything is definitely lost now. As at the end of a section, what functions that returned have left below the stack is no pointer
/// of the program's: there it is cleared, where ours come to lie.
///
/// # Safety
/// None: any C code may call it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lsan_do_recoverable_leak_check() -> c_int {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "lea rdi, [rsp - 1024]",
        "mov ecx, 128",
        "xor eax, eax",
        "rep stosq",
        "jmp {check}",
        ".cfi_endproc",
        check = sym is_anything_lost)
}

extern "C" fn is_anything_lost() -> c_int {
    let lost = if is_ready() { tracker().on_leak_check() } else { None };
    c_int::from(lost.is_some_and(|lost| lost > 0))
}

/// LeakSanitizer ends the program here where it has leaks. Here they are reported at its end, which is its own.
///
/// # Safety
/// None: any C code may call it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __lsan_do_leak_check() {
    core::arch::naked_asm!("jmp {check}", check = sym __lsan_do_recoverable_leak_check)
}

/// Memory that the program mapped counts as a root anyway.
#[unsafe(no_mangle)]
extern "C" fn __lsan_register_root_region(_start: *const c_void, _size: usize) {}

/// As above.
#[unsafe(no_mangle)]
extern "C" fn __lsan_unregister_root_region(_start: *const c_void, _size: usize) {}
