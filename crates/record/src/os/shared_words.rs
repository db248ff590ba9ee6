//! Words in the first page of an arena, which another process has mapped and changes itself.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const PAGE: usize = 4096;

/// Adds to a word in the first page of a file that another process has mapped and changes itself; returns its value before.
pub(crate) fn add(file: &File, offset: usize, value: u64) -> io::Result<u64> {
    let page = memmap2::MmapOptions::new().len(PAGE).map_raw(file)?;
    assert!(offset + 8 <= PAGE && offset.is_multiple_of(8), "a word of the first page");
    // SAFETY: as in `answer`.
    let word = unsafe { &*page.as_mut_ptr().add(offset).cast::<AtomicU64>() };
    Ok(word.fetch_add(value, Ordering::Relaxed))
}

/// Stores a word in the first page of a file that another process has mapped, and wakes threads that wait for it.
pub(crate) fn answer(file: &File, offset: usize, value: u32) -> io::Result<()> {
    let page = memmap2::MmapOptions::new().len(PAGE).map_raw(file)?;
    assert!(offset + 4 <= PAGE && offset.is_multiple_of(4), "a word of the first page");
    // SAFETY: within the page by the line above, and aligned, since the page is. It is touched as an atomic word only, which
    // tolerates other writers, and an arena is never made shorter.
    let word = unsafe { &*page.as_mut_ptr().add(offset).cast::<AtomicU32>() };
    // Release: pairs with the Acquire of the one that waits.
    word.store(value, Ordering::Release);
    // SAFETY: the address is that of a mapped word, whose waiters are only woken.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    Ok(())
}
