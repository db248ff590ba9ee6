//! The functions of ours that programs call by their names: one marks a moment, one takes a heap snapshot, two begin and end a part of
//! the program whose leaks are checked. A program finds them by `dlsym`, or declares them weak and checks whether they are there, as
//! `heaplens.h` does.

use core::ffi::{CStr, c_char};

use heaplens_tracker::{Caller, tracker};

use crate::start::is_ready;

/// Marks this moment with a label in UTF-8.
///
/// # Safety
/// The label is null or zero-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heaplens_mark(label: *const c_char) {
    if !label.is_null() && is_ready() {
        // SAFETY: as the caller says.
        tracker().on_user_mark(unsafe { CStr::from_ptr(label) });
    }
}

/// Takes a heap snapshot: waits until the recorder has a copy of the heap, ten seconds at most. It is a mark, too.
#[unsafe(no_mangle)]
pub extern "C" fn heaplens_snapshot() {
    if is_ready() {
        tracker().on_snapshot();
    }
}

/// A part of the program begins whose leaks are checked: a name in UTF-8. The registers lead to the stack that it begins on.
///
/// # Safety
/// The name is null or zero-terminated.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heaplens_leak_check_begin(name: *const c_char) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov rsi, rsp",
        "mov rdx, rbp",
        "jmp {begin}",
        ".cfi_endproc",
        begin = sym begin_leak_check)
}

/// # Safety
/// The name is null or zero-terminated; the registers are those of a function that was just called.
pub(crate) unsafe extern "C" fn begin_leak_check(name: *const c_char, rsp: u64, rbp: u64) {
    if !name.is_null() && is_ready() {
        // SAFETY: as the caller says.
        tracker().on_section_begin(unsafe { CStr::from_ptr(name) }, Some(Caller { rsp, rbp }));
    }
}

/// It ends. Waits until the recorder has a copy of the heap, ten seconds at most, where this pass is checked. What functions that have
/// returned left on the stack is cleared where ours lie: an old pointer in them would hold a lost block.
///
/// # Safety
/// The name is null or zero-terminated.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heaplens_leak_check_end(name: *const c_char) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov rsi, rdi",
        "lea rdi, [rsp - 1024]",
        "mov ecx, 128",
        "xor eax, eax",
        "rep stosq",
        "mov rdi, rsi",
        "jmp {end}",
        ".cfi_endproc",
        end = sym end_leak_check)
}

/// # Safety
/// The name is null or zero-terminated.
unsafe extern "C" fn end_leak_check(name: *const c_char) {
    if !name.is_null() && is_ready() {
        // SAFETY: as the caller says.
        tracker().on_section_end(unsafe { CStr::from_ptr(name) });
    }
}
