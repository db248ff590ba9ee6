//! One system call, made directly: libc's wrappers set `errno`, can be cancellation points, and some are our own hooks. Also what
//! needs no more than that: signal masks and futexes.

use core::arch::asm;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::atomic::AtomicU32;

use libc::{c_int, c_long};

/// An error number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// Set for good when the program gives up system calls (seccomp): the next one that it did not foresee would end it.
static CONFINED: AtomicBool = AtomicBool::new(false);

/// From now on no system call is made here; each fails with `EPERM` instead, and what needed it goes without.
pub fn confine() {
    CONFINED.store(true, Relaxed);
}

/// Whether the program gave them up.
pub fn is_confined() -> bool {
    CONFINED.load(Relaxed)
}

/// Makes a system call.
///
/// # Safety
/// The arguments must be what the call expects: the kernel writes where they point.
#[inline(always)]
pub unsafe fn syscall(number: c_long, args: [usize; 6]) -> Result<usize, Errno> {
    if CONFINED.load(Relaxed) {
        return Err(Errno(libc::EPERM));
    }
    let result: isize;
    // SAFETY: the x86-64 system call convention; the caller answers for the arguments.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") args[0], in("rsi") args[1],
            in("rdx") args[2], in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as c_int)) } else { Ok(result as usize) }
}

/// Sets the signals that wait; those that waited before.
pub fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    let (new, old) = (&raw const mask as usize, &raw mut before as usize);
    // SAFETY: the kernel reads and writes one set of 8 bytes.
    let _ = unsafe { syscall(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, 8, 0, 0]) };
    before
}

/// Wakes whoever waits for a word of this process.
pub fn wake(word: &AtomicU32) {
    let args = [(&raw const *word) as usize, libc::FUTEX_WAKE as usize, i32::MAX as usize, 0, 0, 0];
    // SAFETY: the word is only an address to the kernel.
    let _ = unsafe { syscall(libc::SYS_futex, args) };
}

/// Waits until another process changes a word from `seen` and wakes us, at most so long.
pub fn wait_on(word: &AtomicU32, seen: u32, most_ns: u64) -> Result<(), Errno> {
    let time = [most_ns / 1_000_000_000, most_ns % 1_000_000_000];
    let args =
        [(&raw const *word) as usize, libc::FUTEX_WAIT as usize, seen as usize, time.as_ptr() as usize, 0, 0];
    // SAFETY: the kernel reads the word and the time.
    unsafe { syscall(libc::SYS_futex, args) }.map(drop)
}
