//! System calls, made directly: libc's wrappers set `errno`, can be cancellation points, and some are our own hooks.
//! Every function returns what the kernel returned; nothing here is on the path of an ordinary event.

use core::arch::asm;
use core::ffi::CStr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::ledger::{OWN_RANGES, OwnRanges};
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

/// A file descriptor that is closed when dropped.
#[derive(Debug)]
pub struct Descriptor(c_int);

impl Descriptor {
    /// Memory as a file that has no name, and is gone with its last mapping.
    pub fn nameless() -> Result<Self, Errno> {
        const MFD_NOEXEC_SEAL: usize = 8;
        let make = |flags: usize| {
            let args = [c"heaplens".as_ptr() as usize, libc::MFD_CLOEXEC as usize | flags, 0, 0, 0, 0];
            // SAFETY: the name is zero-terminated.
            unsafe { syscall(libc::SYS_memfd_create, args) }.map(|fd| Self(fd as c_int))
        };
        match make(MFD_NOEXEC_SEAL) {
            Err(Errno(libc::EINVAL)) => make(0), // before Linux 6.3
            result => result,
        }
    }

    /// Opens a file, close-on-exec.
    pub fn open(path: &CStr, flags: c_int, mode: u32) -> Result<Self, Errno> {
        let flags = flags | libc::O_CLOEXEC;
        let args = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
        // SAFETY: `path` is zero-terminated and lives over the call.
        unsafe { syscall(libc::SYS_openat, args) }.map(|fd| Self(fd as c_int))
    }

    /// Takes over a descriptor that was opened elsewhere.
    pub fn from_number(number: c_int) -> Self {
        Self(number)
    }

    /// The number, for calls that are not wrapped here.
    pub fn number(&self) -> c_int {
        self.0
    }

    /// Reads until the buffer is full or the file ends; the part that was read.
    pub fn read<'b>(&self, buffer: &'b mut [u8]) -> &'b mut [u8] {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let args = [self.0 as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0];
            // SAFETY: the kernel writes at most `rest.len()` bytes into `rest`.
            match unsafe { syscall(libc::SYS_read, args) } {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno(libc::EINTR)) => {}
                Err(_) => break,
            }
        }
        &mut buffer[..filled]
    }

    /// Reads at an offset; the part that was read.
    pub fn read_at<'b>(&self, buffer: &'b mut [u8], offset: u64) -> &'b [u8] {
        let args = [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0];
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let count = unsafe { syscall(libc::SYS_pread64, args) }.unwrap_or(0);
        &buffer[..count]
    }

    /// Writes all of it at the end, or fails.
    pub fn write_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let args = [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
            // SAFETY: the kernel reads `bytes`.
            match unsafe { syscall(libc::SYS_write, args) } {
                Ok(0) => return Err(Errno(libc::EIO)),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Writes in the middle, where there is something already; whether all of it was.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> bool {
        let args = [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
        // SAFETY: the kernel reads `bytes`.
        let written = unsafe { syscall(libc::SYS_pwrite64, args) };
        written == Ok(bytes.len())
    }

    /// Sets the length of the file; what is added is a hole.
    pub fn set_length(&self, length: u64) -> Result<(), Errno> {
        // SAFETY: ftruncate takes no pointer.
        unsafe { syscall(libc::SYS_ftruncate, [self.0 as usize, length as usize, 0, 0, 0, 0]) }.map(drop)
    }

    /// Makes sure that `length` bytes from `offset` on exist: they can be touched without a fault that kills.
    pub fn allocate(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let args = [self.0 as usize, 0, offset as usize, length as usize, 0, 0];
        loop {
            // SAFETY: fallocate takes no pointer.
            match unsafe { syscall(libc::SYS_fallocate, args) } {
                Ok(_) => return Ok(()),
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: close takes no pointer; the descriptor is ours.
        let _ = unsafe { syscall(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Maps memory.
///
/// # Safety
/// With `MAP_FIXED` the range must be ours to replace.
pub unsafe fn map(
    at: usize,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: Option<&Descriptor>,
) -> Result<usize, Errno> {
    let fd = file.map_or(-1, Descriptor::number);
    let args = [at, length, protection as usize, flags as usize, fd as isize as usize, 0];
    // SAFETY: without MAP_FIXED a new mapping disturbs nothing; with it the caller answers.
    unsafe { syscall(libc::SYS_mmap, args) }
}

/// Our private memory outside the arena, for the recorder: it counts what of it is resident.
static OWN: OwnRanges = OwnRanges::new();

/// Where the table of our private memory is.
pub fn own_ranges() -> *const OwnRanges {
    &raw const OWN
}

fn note_own(start: usize, length: usize) {
    let index = OWN.count.fetch_add(1, Relaxed) as usize;
    if let Some(range) = OWN.ranges.get(index) {
        range.start.store(start as u64, Relaxed);
        range.length.store(length as u64, Relaxed);
    }
}

fn forget_own(start: usize) {
    let count = (OWN.count.load(Relaxed) as usize).min(OWN_RANGES);
    let ranges = OWN.ranges[..count].iter();
    ranges
        .filter(|range| range.start.load(Relaxed) == start as u64)
        .for_each(|range| range.length.store(0, Relaxed));
}

/// Fresh zeroed private pages, or nothing.
pub fn private_pages(length: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice.
    let pages = unsafe { map(0, length, libc::PROT_READ | libc::PROT_WRITE, flags, None) }.ok()?;
    note_own(pages, length);
    Some(pages)
}

/// Gives pages back.
///
/// # Safety
/// Nobody may use the range any more.
pub unsafe fn unmap(at: usize, length: usize) {
    forget_own(at);
    // SAFETY: as the caller says.
    let _ = unsafe { syscall(libc::SYS_munmap, [at, length, 0, 0, 0, 0]) };
}

/// Gives the kernel advice on a range of our own.
pub fn advise(at: usize, length: usize, advice: c_int) -> Result<(), Errno> {
    // SAFETY: only advice that keeps the contents for this process is used here.
    unsafe { syscall(libc::SYS_madvise, [at, length, advice as usize, 0, 0, 0]) }.map(drop)
}

/// Changes the protection of a range of our own.
pub fn protect(at: usize, length: usize, protection: c_int) -> Result<(), Errno> {
    // SAFETY: callers change only ranges that nothing refers to yet, or make them accessible.
    unsafe { syscall(libc::SYS_mprotect, [at, length, protection as usize, 0, 0, 0]) }.map(drop)
}

/// Where a symbolic link leads; the part of the buffer that holds it.
pub fn read_link<'b>(path: &CStr, buffer: &'b mut [u8]) -> &'b [u8] {
    let args = [path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    let length = unsafe { syscall(libc::SYS_readlink, args) }.unwrap_or(0);
    &buffer[..length]
}

/// The working directory; the part of the buffer that holds it, without the terminator.
pub fn working_directory(buffer: &mut [u8]) -> &[u8] {
    let args = [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0];
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    let length = unsafe { syscall(libc::SYS_getcwd, args) }.unwrap_or(0);
    &buffer[..length.saturating_sub(1)]
}

/// This process.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// Reads words of this process that may not be there any more; how many there were. The kernel looks, and does not fault.
pub fn read_words<const N: usize>(address: u64) -> ([u64; N], usize) {
    let mut bytes = [[0; 8]; N];
    let read = read_bytes(address, bytes.as_flattened_mut());
    (bytes.map(u64::from_le_bytes), read / 8)
}

/// The same with any bytes.
pub fn read_bytes(address: u64, into: &mut [u8]) -> usize {
    let own = [into.as_mut_ptr() as usize, into.len()];
    let there = [address as usize, into.len()];
    let pid = crate::lifecycle::start::own_pid() as usize;
    let args = [pid, own.as_ptr() as usize, 1, there.as_ptr() as usize, 1, 0];
    // SAFETY: the kernel writes at most so many bytes into `into`.
    unsafe { syscall(libc::SYS_process_vm_readv, args) }.unwrap_or(0)
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
    let behind = stat.get(stat.iter().rposition(|&byte| byte == b')')? + 1..)?;
    let parent = behind.split(|&byte| byte == b' ').nth(2).and_then(parse_decimal)?;
    Some(ProcessNumbers { pid: u32::try_from(pid).ok()?, parent: u32::try_from(parent).ok()? })
}

/// Gives a file of ours its final name.
pub fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let args = [from.as_ptr() as usize, to.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: both are zero-terminated and live over the call.
    unsafe { syscall(libc::SYS_rename, args) }.map(drop)
}

/// Removes a file of ours.
pub fn remove_file(path: &CStr) {
    // SAFETY: `path` is zero-terminated and lives over the call.
    let _ = unsafe { syscall(libc::SYS_unlink, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Whether the process, with the rights that it has now, may read a file.
pub fn may_read(path: &CStr) -> bool {
    match access(path, libc::R_OK) {
        Err(Errno(libc::ENOSYS)) => Descriptor::open(path, libc::O_RDONLY, 0).is_ok(), // before Linux 5.8
        result => result.is_ok(),
    }
}

/// What is against it that the process does this with a file.
pub fn access(path: &CStr, mode: c_int) -> Result<(), Errno> {
    const AT_EACCESS: usize = 0x200;
    let args = [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode as usize, AT_EACCESS, 0, 0];
    // SAFETY: `path` is zero-terminated and lives over the call.
    unsafe { syscall(libc::SYS_faccessat2, args) }.map(drop)
}

/// This thread.
pub fn thread_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
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
