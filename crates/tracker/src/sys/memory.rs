//! Memory of our own outside the arena, and memory of the program that may be gone: the kernel reads that, and does not fault.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::ledger::{OWN_RANGES, OwnRanges};
use libc::c_int;

use super::call::{Errno, syscall};
use super::descriptor::Descriptor;
use super::identity::own_pid;

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

/// Clears what functions of ours that have returned left below the stack pointer. The memory there is read as the stack of a thread that
/// waits (a leaf function may use it), and an old pointer would seem to hold a block.
///
/// Apart, since its caller has nothing there: a function that calls another one is no leaf.
#[unsafe(naked)]
pub extern "C" fn clear_below_stack() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "lea rdi, [rsp - 1024]",
        "mov ecx, 128",
        "xor eax, eax",
        "cld",
        "rep stosq",
        "ret",
        ".cfi_endproc",
    )
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

/// The memory of this machine in bytes; 0 where the kernel does not say.
pub fn memory_of_machine() -> u64 {
    let mut info: [u64; 14] = [0; 14]; // struct sysinfo: 112 bytes, `totalram` is its fifth word, `mem_unit` in its last but one
    // SAFETY: the kernel writes the structure.
    let _ = unsafe { syscall(libc::SYS_sysinfo, [info.as_mut_ptr() as usize, 0, 0, 0, 0, 0]) };
    info[4].saturating_mul(info[13] & u64::from(u32::MAX))
}

/// Reads words of this process that may not be there any more; how many there were. The kernel checks, and does not fault.
pub fn read_words<const N: usize>(address: u64) -> ([u64; N], usize) {
    let mut bytes = [[0; 8]; N];
    let read = read_bytes(address, bytes.as_flattened_mut());
    (bytes.map(u64::from_le_bytes), read / 8)
}

/// The same with any bytes.
pub fn read_bytes(address: u64, into: &mut [u8]) -> usize {
    let own = [into.as_mut_ptr() as usize, into.len()];
    let there = [address as usize, into.len()];
    let pid = own_pid() as usize;
    let args = [pid, own.as_ptr() as usize, 1, there.as_ptr() as usize, 1, 0];
    // SAFETY: the kernel writes at most so many bytes into `into`.
    unsafe { syscall(libc::SYS_process_vm_readv, args) }.unwrap_or(0)
}
