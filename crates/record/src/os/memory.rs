//! Memory of another process, by its pid: read from the outside where the kernel allows it, else requested, where the process is a
//! self-forked copy that serves its memory. It trusts no address and keeps nothing but what a copy has already served.

use heaplens_format::{Addr, Pid};

use super::refusal::is_refusal;
use super::served;

/// Addresses of one call (`IOV_MAX`).
const AT_ONCE: usize = 1024;

/// Reads memory of another process; returns how many bytes could be read.
pub(crate) fn read(process: Pid, from: Addr, into: &mut [u8]) -> usize {
    let own = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: from.get() as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes at most `into.len()` bytes into `into`; addresses of the other process are only numbers here.
    let read = unsafe { libc::process_vm_readv(process.get() as libc::pid_t, &own, 1, &there, 1, 0) };
    usize::try_from(read).unwrap_or_else(|_| match is_refused() {
        true => served::read(process, from, into),
        false => 0,
    })
}

/// Reads `each` bytes from every address, one after the other. What cannot be read is left as it is.
pub(crate) fn read_scattered(process: Pid, from: &[Addr], each: usize, into: &mut [u8]) {
    let (mut from, mut into) = (from, into);
    while !from.is_empty() {
        let count = from.len().min(AT_ONCE);
        let length = (count * each).min(into.len());
        let read = read_some(process, &from[..count], each, &mut into[..length]);
        // It stops at the first address that is not mapped: that one is skipped.
        let done = (read / each.max(1)).max(1).min(count);
        from = &from[done..];
        into = &mut into[(done * each).min(length)..];
    }
}

/// The same for as many addresses as one call takes, up to the first that is not mapped; returns how many bytes that is.
fn read_some(process: Pid, from: &[Addr], each: usize, into: &mut [u8]) -> usize {
    let there: Vec<libc::iovec> = from
        .iter()
        .map(|&address| libc::iovec { iov_base: address.get() as *mut libc::c_void, iov_len: each })
        .collect();
    let own = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let (pid, rows) = (process.get() as libc::pid_t, there.len() as libc::c_ulong);
    // SAFETY: the kernel writes at most `into.len()` bytes into `into`, and reads `rows` rows of `there`.
    let read = unsafe { libc::process_vm_readv(pid, &own, 1, there.as_ptr(), rows, 0) };
    match usize::try_from(read) {
        Err(_) if is_refused() => served::read_many(process, from, each, into),
        read => read.unwrap_or(0),
    }
}

fn is_refused() -> bool {
    is_refusal(&std::io::Error::last_os_error())
}
