//! The unwinder of the tracker behind C functions, so that C++ programs can compare it with libgcc's, capture by capture.
//!
//! A capture takes the same path as that of an allocation: guard, the thread slot's memo on the thread's own stack, the plain walk
//! on any other. Nothing is hooked and no block is recorded; the programs call these functions where an allocation would
//! be, and say themselves when they unmap memory or unload a library. The C side of the interface is
//! `programs/capture.h`.

mod capture;

use core::ffi::c_void;

use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, Guard, Nesting, lifecycle, tracker};

pub use capture::{Stack, Way};

/// Exports `$name`, which passes its argument and, like the hooks of the agent, rsp and rbp at its entry to `$hook`.
/// Unlike them it has unwind information: the programs look at a capture from its first instruction on.
macro_rules! export {
    ($name:ident => $hook:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rsi, rsp",
                "mov rdx, rbp",
                "jmp {hook}",
                ".cfi_endproc",
                hook = sym $hook,
            )
        }
    };
}

export!(unwind_check_by_memo => by_memo);
export!(unwind_check_by_walk => by_walk);

/// # Safety
/// As [`Stack`] asks for; the registers are those at the entry of an exported function.
unsafe extern "C" fn by_memo(stack: *mut Stack, rsp: u64, rbp: u64) -> Way {
    // SAFETY: as the caller says.
    unsafe { in_guard(stack, |guard, stack| capture::by_memo(guard, stack, Caller { rsp, rbp })) }
}

/// # Safety
/// As for [`by_memo`].
unsafe extern "C" fn by_walk(stack: *mut Stack, rsp: u64, rbp: u64) -> Way {
    // SAFETY: as the caller says.
    unsafe { in_guard(stack, |guard, stack| capture::by_walk(guard, stack, Caller { rsp, rbp })) }
}

/// # Safety
/// `stack` is as [`Stack`] asks for.
#[inline(always)]
unsafe fn in_guard(stack: *mut Stack, capture: impl FnOnce(&Guard, &mut Stack) -> Way) -> Way {
    let Some(guard) = Guard::enter(Nesting::Never) else { return Way::Refused };
    if !lifecycle::is_recording(&guard) {
        return Way::Blind;
    }
    // SAFETY: as the caller says.
    capture(&guard, unsafe { &mut *stack })
}

/// A library was unloaded.
#[unsafe(no_mangle)]
extern "C" fn unwind_check_unloaded() {
    tracker().on_unload();
}

/// Memory is about to be unmapped.
#[unsafe(no_mangle)]
extern "C" fn unwind_check_unmapping(start: *mut c_void, length: usize) {
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_unmap(&guard, Addr::new(start as u64), Bytes::new(length as u64));
    }
}

/// Calls back from below a frame of the Rust library and one of this crate.
///
/// # Safety
/// `callback` may be called with `data`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn unwind_check_through_rust(
    callback: extern "C-unwind" fn(*mut c_void),
    data: *mut c_void,
) {
    let mut numbers = [2, 1];
    numbers.sort_by(|a, b| {
        callback(data);
        a.cmp(b)
    });
}

extern "C" fn construct() {
    lifecycle::start(false);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;
