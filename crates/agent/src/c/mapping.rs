//! Mappings that the program makes itself.

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use heaplens_format::{Addr, Bytes};
use heaplens_tracker::events::MappingKind;
use heaplens_tracker::{Caller, Guard, Nesting, tracker};

use crate::c::export::export;
use crate::c::real;
use crate::start::is_ready;

/// Six arguments leave no register for rsp and rbp: they travel on the stack, as the seventh and the eighth.
macro_rules! export_six {
    ($($name:ident),* => $hook:path) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov rax, rsp",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {hook}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                hook = sym $hook)
        }
    )*};
}

export_six!(mmap, mmap64 => on_mmap);
export_six!(mremap => on_mremap);
export!(1, sbrk => on_sbrk);
export!(1, brk => on_brk);

unsafe extern "C" fn on_mmap(
    at: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    let Some(real) = real::MMAP.get().filter(|_| is_ready()) else {
        let args = [
            at as usize,
            length,
            protection as usize,
            flags as usize,
            file as isize as usize,
            offset as usize,
        ];
        return raw(libc::SYS_mmap, args) as *mut c_void;
    };
    let guard = Guard::enter(Nesting::Expected);
    // SAFETY: the real function with the program's own arguments.
    let start = unsafe { real(at, length, protection, flags, file, offset) };
    if start != libc::MAP_FAILED {
        let is_anonymous = flags & libc::MAP_ANONYMOUS != 0;
        let (at, length) = (Addr::new(start as u64), Bytes::new(length as u64));
        let kind = if is_anonymous { MappingKind::Anonymous } else { MappingKind::File };
        match &guard {
            Some(guard) => tracker().on_map(guard, at, length, kind, Caller { rsp, rbp }),
            None if is_anonymous => tracker().on_nested_map(at, length),
            None => {}
        }
    }
    start
}

/// A system call in place of a function that is not known yet: an allocator inside the program may start up while we look
/// the functions up. Sets errno, as libc does.
#[cold]
pub fn raw(number: libc::c_long, args: [usize; 6]) -> isize {
    // SAFETY: the program's own arguments, and this thread's errno.
    unsafe {
        match heaplens_tracker::sys::syscall(number, args) {
            Ok(value) => value as isize,
            Err(errno) => {
                *libc::__errno_location() = errno.0;
                -1
            }
        }
    }
}

unsafe extern "C" fn on_mremap(
    old: *mut c_void,
    old_length: usize,
    new_length: usize,
    flags: c_int,
    at: *mut c_void,
    _unused: usize,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    let Some(real) = real::MREMAP.get().filter(|_| is_ready()) else {
        let args = [old as usize, old_length, new_length, flags as usize, at as usize, 0];
        return raw(libc::SYS_mremap, args) as *mut c_void;
    };
    let guard = Guard::enter(Nesting::Expected);
    // SAFETY: the real function with the program's own arguments; it reads the fifth only with MREMAP_FIXED.
    let new = unsafe { real(old, old_length, new_length, flags, at) };
    if let Some(guard) = &guard
        && new != libc::MAP_FAILED
    {
        let range = |start: *mut c_void, length: usize| (Addr::new(start as u64), Bytes::new(length as u64));
        tracker().on_remap(guard, range(old, old_length), range(new, new_length), Caller { rsp, rbp });
    }
    new
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, length: usize) -> c_int {
    let Some(real) = real::MUNMAP.get().filter(|_| is_ready()) else {
        return raw(libc::SYS_munmap, [start as usize, length, 0, 0, 0, 0]) as c_int;
    };
    let guard = Guard::enter(Nesting::Expected);
    if start as usize & 4095 == 0 {
        let (at, length) = (Addr::new(start as u64), Bytes::new(length as u64));
        match &guard {
            Some(guard) => tracker().on_unmap(guard, at, length),
            None => tracker().on_nested_unmap(at, length),
        }
    }
    // SAFETY: the real function with the program's own arguments.
    unsafe { real(start, length) }
}

unsafe extern "C" fn on_sbrk(increment: isize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::SBRK.get().filter(|_| is_ready()) else { return libc::MAP_FAILED };
    let guard = Guard::enter(Nesting::Expected);
    // SAFETY: the real function with the program's own argument.
    let old = unsafe { real(increment) };
    if let Some(guard) = &guard
        && old != libc::MAP_FAILED
    {
        record_break(
            guard,
            old as u64,
            (old as u64).wrapping_add_signed(increment as i64),
            Caller { rsp, rbp },
        );
    }
    old
}

unsafe extern "C" fn on_brk(end: *mut c_void, rsp: u64, rbp: u64) -> c_int {
    let (Some(real), Some(sbrk)) = (real::BRK.get().filter(|_| is_ready()), real::SBRK.get()) else {
        return -1;
    };
    let guard = Guard::enter(Nesting::Expected);
    // SAFETY: sbrk(0) only asks; then the real function with the program's own argument.
    let (old, status) = unsafe { (sbrk(0), real(end)) };
    if let Some(guard) = &guard
        && status == 0
    {
        record_break(guard, old as u64, end as u64, Caller { rsp, rbp });
    }
    status
}

fn record_break(guard: &Guard, old: u64, new: u64, caller: Caller) {
    let (start, length) = (Addr::new(old.min(new)), Bytes::new(old.abs_diff(new)));
    match new.cmp(&old) {
        core::cmp::Ordering::Greater => tracker().on_break(guard, start, length, caller),
        core::cmp::Ordering::Less => tracker().on_break_back(guard, start, length),
        core::cmp::Ordering::Equal => {}
    }
}
