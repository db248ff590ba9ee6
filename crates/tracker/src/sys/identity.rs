//! What the kernel says of this process and of the calling thread: numbers, names, limits, clocks.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::call::syscall;
use super::descriptor::Descriptor;

/// This process as it numbers itself; the arena has the number that the recorder knows it by.
static OWN_PID: AtomicU32 = AtomicU32::new(0);

/// Keeps the number of this process.
pub fn note_own_pid() {
    OWN_PID.store(process_id(), Relaxed);
}

/// The number that was kept: the parent's in the child of a `vfork`.
pub fn own_pid() -> u32 {
    OWN_PID.load(Relaxed)
}

/// This process.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// A process and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessNumbers {
    /// The process.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
}

/// The numbers by which `/proc` knows this process: a program in a PID namespace of its own calls itself 1.
pub fn process_numbers() -> ProcessNumbers {
    let mut buffer = [0u8; 256];
    let known = Descriptor::open(c"/proc/self/stat", libc::O_RDONLY, 0)
        .ok()
        .and_then(|file| parse_numbers(file.read(&mut buffer)));
    // SAFETY: no arguments.
    let parent = || unsafe { syscall(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32;
    known.unwrap_or_else(|| ProcessNumbers { pid: process_id(), parent: parent() })
}

/// `pid (name) state ppid …`; the name may hold anything, a closing parenthesis too.
fn parse_numbers(stat: &[u8]) -> Option<ProcessNumbers> {
    let pid = stat.split(|&byte| byte == b' ').next().and_then(parse_decimal)?;
    let after = stat.get(stat.iter().rposition(|&byte| byte == b')')? + 1..)?;
    let parent = after.split(|&byte| byte == b' ').nth(2).and_then(parse_decimal)?;
    Some(ProcessNumbers { pid: u32::try_from(pid).ok()?, parent: u32::try_from(parent).ok()? })
}

/// This thread.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// The thread pointer, by which this thread finds its own variables: no other thread has it, but who shares a thread's memory and its life, as
/// the child of a `vfork` does.
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the ABI keeps the thread pointer at the address that it leads to.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr fs:[0]", out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
    }
    pointer
}

/// The name of this thread, as the kernel has it.
pub fn thread_name() -> [u64; 2] {
    let mut name = [0; 2];
    // SAFETY: the kernel writes sixteen bytes into `name`.
    let _ = unsafe {
        syscall(libc::SYS_prctl, [libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0, 0, 0])
    };
    name
}

/// A resource limit; the largest number when there is none.
pub fn soft_limit(resource: u32) -> u64 {
    let mut limit = [u64::MAX; 2];
    let args = [0, resource as usize, 0, limit.as_mut_ptr() as usize, 0, 0];
    // SAFETY: the kernel writes two words into `limit`.
    let _ = unsafe { syscall(libc::SYS_prlimit64, args) };
    limit[0]
}

/// The monotonic clock in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let mut time = [0u64; 2];
    let args = [libc::CLOCK_MONOTONIC as usize, time.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes two words into `time`.
    let _ = unsafe { syscall(libc::SYS_clock_gettime, args) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

/// Resident bytes of this process, 0 when they cannot be read.
pub fn resident_bytes() -> u64 {
    let mut buffer = [0u8; 128];
    let Ok(file) = Descriptor::open(c"/proc/self/statm", libc::O_RDONLY, 0) else { return 0 };
    let mut words = file.read(&mut buffer).split(|&byte| byte == b' ');
    let pages = words.nth(1).and_then(parse_decimal).unwrap_or(0);
    pages.wrapping_mul(4096)
}

/// A decimal number and nothing else.
pub fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Errno;

    #[test]
    fn decimals_are_parsed_whole_or_not_at_all() {
        assert_eq!(parse_decimal(b"524288"), Some(524_288));
        assert_eq!(parse_decimal(b""), None);
        assert_eq!(parse_decimal(b"12a"), None);
        assert_eq!(parse_decimal(b"99999999999999999999"), None);
    }

    #[test]
    fn the_numbers_of_a_process_are_found_behind_any_name() {
        let numbers = parse_numbers(b"123 (a) b (c)) S 45 123 0 -1").unwrap();
        assert_eq!(numbers, ProcessNumbers { pid: 123, parent: 45 });
        assert_eq!(parse_numbers(b"123"), None);
        assert_eq!(process_numbers().pid, std::process::id());
    }

    #[test]
    fn the_kernel_answers() {
        assert_eq!(process_id(), std::process::id());
        assert!(resident_bytes() > 100_000);
        assert!(soft_limit(libc::RLIMIT_NOFILE) > 0);
        assert_eq!(Descriptor::open(c"/nowhere/at/all", 0, 0).unwrap_err(), Errno(libc::ENOENT));
    }
}
