//! Functions of the C library that copy, whose source and destination must not overlap. Only in the flavour of the agent for `memcheck`.
//! What a program copies before the real functions are known, and what we copy ourselves, is copied byte by byte or passes unchecked.

use core::arch::asm;

use heaplens_format::arena::error::{CalledFunction, ErrorKind};
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, tracker};

use super::export::export;
use super::real::Real;

type Text = *mut u8;
type CopyBytes = unsafe extern "C" fn(Text, *const u8, usize) -> Text;
type CopyText = unsafe extern "C" fn(Text, *const u8) -> Text;
type CopyChecked = unsafe extern "C" fn(Text, *const u8, usize, usize) -> Text;

static MEMCPY: Real<CopyBytes> = Real::new(c"memcpy");
static MEMPCPY: Real<CopyBytes> = Real::new(c"mempcpy");
static MEMCPY_CHECKED: Real<CopyChecked> = Real::new(c"__memcpy_chk");
static STRCPY: Real<CopyText> = Real::new(c"strcpy");
static STPCPY: Real<CopyText> = Real::new(c"stpcpy");
static STRCAT: Real<CopyText> = Real::new(c"strcat");
static STRNCPY: Real<CopyBytes> = Real::new(c"strncpy");
static STRNCAT: Real<CopyBytes> = Real::new(c"strncat");

export!(3, memcpy => on_memcpy);
export!(3, mempcpy => on_mempcpy);
export!(4, __memcpy_chk => on_memcpy_checked);
export!(2, strcpy => on_strcpy);
export!(2, stpcpy => on_stpcpy);
export!(2, strcat => on_strcat);
export!(3, strncpy => on_strncpy);
export!(3, strncat => on_strncat);

/// Looks up the real functions.
pub fn resolve() {
    MEMCPY.resolve();
    MEMPCPY.resolve();
    MEMCPY_CHECKED.resolve();
    [&STRCPY, &STPCPY, &STRCAT].into_iter().for_each(Real::resolve);
    [&STRNCPY, &STRNCAT].into_iter().for_each(Real::resolve);
}

/// Whether two ranges have a byte in common. One and the same place is left alone: compilers copy a struct onto itself.
#[inline(always)]
fn overlap(to: *const u8, to_length: usize, from: *const u8, from_length: usize) -> bool {
    let (to, from) = (to as usize, from as usize);
    to.wrapping_sub(from).wrapping_sub(1) < from_length.saturating_sub(1)
        || from.wrapping_sub(to).wrapping_sub(1) < to_length.saturating_sub(1)
}

#[cold]
#[inline(never)]
fn report(function: CalledFunction, to: *const u8, from: *const u8, length: usize, caller: Caller) {
    if tracker().is_memcheck() {
        let numbers = (Addr::new(to as u64), Bytes::new(length as u64), from as u64);
        tracker().on_bad_argument((ErrorKind::Overlap, function), numbers, caller);
    }
}

unsafe extern "C" fn on_memcpy(to: Text, from: *const u8, length: usize, rsp: u64, rbp: u64) -> Text {
    if overlap(to, length, from, length) {
        report(CalledFunction::MEMCPY, to, from, length, Caller { rsp, rbp });
    }
    // SAFETY: the program's own call.
    unsafe {
        match MEMCPY.get() {
            Some(real) => real(to, from, length),
            None => copy_slowly(to, from, length),
        }
    }
}

unsafe extern "C" fn on_mempcpy(to: Text, from: *const u8, length: usize, rsp: u64, rbp: u64) -> Text {
    if overlap(to, length, from, length) {
        report(CalledFunction::MEMPCPY, to, from, length, Caller { rsp, rbp });
    }
    // SAFETY: the program's own call.
    unsafe {
        match MEMPCPY.get() {
            Some(real) => real(to, from, length),
            None => copy_slowly(to, from, length).add(length),
        }
    }
}

unsafe extern "C" fn on_memcpy_checked(
    to: Text,
    from: *const u8,
    length: usize,
    room: usize,
    rsp: u64,
    rbp: u64,
) -> Text {
    if overlap(to, length, from, length) {
        report(CalledFunction::MEMCPY_CHK, to, from, length, Caller { rsp, rbp });
    }
    // SAFETY: the program's own call.
    unsafe {
        match MEMCPY_CHECKED.get() {
            Some(real) => real(to, from, length, room),
            None => copy_slowly(to, from, length),
        }
    }
}

unsafe extern "C" fn on_strcpy(to: Text, from: *const u8, rsp: u64, rbp: u64) -> Text {
    // SAFETY: the program's own call.
    unsafe {
        check_text(CalledFunction::STRCPY, to, from, Caller { rsp, rbp });
        match STRCPY.get() {
            Some(real) => real(to, from),
            None => copy_slowly(to, from, length_of(from, usize::MAX) + 1),
        }
    }
}

unsafe extern "C" fn on_stpcpy(to: Text, from: *const u8, rsp: u64, rbp: u64) -> Text {
    // SAFETY: the program's own call.
    unsafe {
        check_text(CalledFunction::STPCPY, to, from, Caller { rsp, rbp });
        match STPCPY.get() {
            Some(real) => real(to, from),
            None => {
                let length = length_of(from, usize::MAX);
                copy_slowly(to, from, length + 1).add(length)
            }
        }
    }
}

/// # Safety
/// As of `strcpy`.
#[inline(always)]
unsafe fn check_text(function: CalledFunction, to: Text, from: *const u8, caller: Caller) {
    // SAFETY: the caller's.
    let length = unsafe { length_of(from, usize::MAX) } + 1;
    if overlap(to, length, from, length) {
        report(function, to, from, 0, caller);
    }
}

unsafe extern "C" fn on_strcat(to: Text, from: *const u8, rsp: u64, rbp: u64) -> Text {
    // SAFETY: the program's own call.
    unsafe {
        let (before, length) = (length_of(to, usize::MAX), length_of(from, usize::MAX));
        if overlap(to.add(before), length + 1, from, length + 1) {
            report(CalledFunction::STRCAT, to, from, 0, Caller { rsp, rbp });
        }
        match STRCAT.get() {
            Some(real) => real(to, from),
            None => {
                copy_slowly(to.add(before), from, length + 1);
                to
            }
        }
    }
}

unsafe extern "C" fn on_strncpy(to: Text, from: *const u8, room: usize, rsp: u64, rbp: u64) -> Text {
    // SAFETY: the program's own call.
    unsafe {
        let length = length_of(from, room);
        if overlap(to, room, from, if length < room { length + 1 } else { length }) {
            report(CalledFunction::STRNCPY, to, from, room, Caller { rsp, rbp });
        }
        match STRNCPY.get() {
            Some(real) => real(to, from, room),
            None => {
                copy_slowly(to, from, length);
                (length..room).for_each(|at| to.add(at).write_volatile(0));
                to
            }
        }
    }
}

unsafe extern "C" fn on_strncat(to: Text, from: *const u8, most: usize, rsp: u64, rbp: u64) -> Text {
    // SAFETY: the program's own call.
    unsafe {
        let (before, length) = (length_of(to, usize::MAX), length_of(from, most));
        let read = if length < most { length + 1 } else { length };
        if overlap(to.add(before), length + 1, from, read) {
            report(CalledFunction::STRNCAT, to, from, most, Caller { rsp, rbp });
        }
        match STRNCAT.get() {
            Some(real) => real(to, from, most),
            None => {
                copy_slowly(to.add(before), from, length);
                to.add(before + length).write_volatile(0);
                to
            }
        }
    }
}

/// # Safety
/// A text that ends with a zero, or has so many bytes.
#[inline(always)]
unsafe fn length_of(text: *const u8, most: usize) -> usize {
    // SAFETY: the caller's.
    unsafe { libc::strnlen(text.cast(), most) }
}

/// Without a call, which would come back to us.
///
/// # Safety
/// As of `memcpy`.
unsafe fn copy_slowly(to: Text, from: *const u8, length: usize) -> Text {
    // SAFETY: the caller's; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}
