//! The words of a thread: initial-exec thread-local storage (a `thread_local!` in a preloaded library calls `__tls_get_addr`, which
//! may allocate). The first one leads to the thread slot:
//!
//! ```text
//!   0            no slot yet
//!   …xx01        no slot any more (the thread is ending) or ever (all are taken); xx: busy, as in ThreadSlot::busy
//!   pointer      the slot
//! ```
//!
//! After it come the distances to the thread's next sampled block and to its next sampled object of Python, so that an
//! event that is none needs no slot at all, where the thread says what operation of a framework it runs (`work`), and how many
//! blocks come until the next one that is guarded.

use core::arch::{asm, global_asm};

use heaplens_format::Bytes;

use super::annotation::Annotation;
use crate::tables::sampling::Distance;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type heaplens_thread_word,@tls_object",
    ".size heaplens_thread_word,64",
    ".hidden heaplens_thread_word",
    ".globl heaplens_thread_word",
    "heaplens_thread_word:",
    ".zero 64",
    ".text"
);

pub(crate) const NO_SLOT: u64 = 1;
pub(crate) const NO_SLOT_BUSY_SHIFT: u32 = 1;

#[inline(always)]
pub(crate) fn thread_word() -> *mut u64 {
    let word: *mut u64;
    // SAFETY: reads the offset of the word from the GOT and adds the thread pointer: the initial-exec access of the ABI.
    unsafe {
        asm!("mov {0}, qword ptr [rip + heaplens_thread_word@GOTTPOFF]", "add {0}, qword ptr fs:[0]",
            out(reg) word, options(pure, readonly, nostack));
    }
    word
}

/// The words after the thread word.
#[inline(always)]
pub(crate) fn thread_distance() -> *mut Distance {
    thread_word().wrapping_add(1).cast()
}

/// Those after them.
#[inline(always)]
pub(crate) fn thread_object_distance() -> *mut Distance {
    thread_distance().wrapping_add(1)
}

/// Where this thread says which operation of a framework it runs.
#[inline(always)]
pub fn annotation<'a>() -> &'a mut Annotation {
    // SAFETY: words after those, which belong to this thread alone; zeros say that it never did.
    unsafe { &mut *thread_object_distance().wrapping_add(1).cast() }
}

/// Where the countdown is that the agent's code in assembly steps by itself: in bytes from the thread word.
pub const GUARD_COUNTDOWN: usize = 56;

/// Blocks until one is guarded; 0: not drawn yet.
#[inline(always)]
pub fn guard_countdown() -> *mut u64 {
    thread_word().wrapping_byte_add(GUARD_COUNTDOWN)
}

/// Whether an object of Python is no sample and needs nothing from us. Where every object is recorded, none passes by: the
/// distance is never drawn.
///
/// Benchmark: `cargo xtask bench --only py-objects`.
#[inline(always)]
pub fn object_passes_by(size: usize) -> bool {
    // SAFETY: the words belong to this thread, and no signal handler makes objects.
    unsafe { (*thread_object_distance()).passes_by(Bytes::new(size as u64)) }
}
