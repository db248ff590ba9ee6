//! The program's own memory, as the readers of `heaplens_cpython` ask for it: directly where a thread keeps alive what it reads,
//! by way of the kernel where what is read may be gone.

use heaplens_cpython::ReadMemory;

use crate::sys;

/// What the calling thread keeps alive: its state, its frames, their code and what that refers to, and the interpreter's own data.
/// Nothing else may be asked for: an address that is not mapped brings the program down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live;

impl ReadMemory for Live {
    #[inline(always)]
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        // SAFETY: callers read within objects that the calling thread keeps alive (see the type).
        unsafe { core::ptr::copy_nonoverlapping(address as *const u8, into.as_mut_ptr(), into.len()) };
        into.len()
    }

    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        // SAFETY: as in `read`; words of objects are aligned.
        Some(unsafe { (address as *const u64).read_volatile() })
    }

    #[inline(always)]
    fn half(&self, address: u64) -> Option<u32> {
        // SAFETY: as in `word`.
        Some(unsafe { (address as *const u32).read_volatile() })
    }

    #[inline(always)]
    fn byte(&self, address: u64) -> Option<u8> {
        // SAFETY: as in `read`.
        Some(unsafe { (address as *const u8).read_volatile() })
    }
}

/// Anything. The kernel checks, and does not fault; it costs more than the rest of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked;

impl ReadMemory for Checked {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        sys::read_bytes(address, into)
    }
}

/// A word of an object that the calling thread keeps alive.
#[inline(always)]
pub(crate) fn word(object: u64, offset: u64) -> u64 {
    Live.word(object + offset).unwrap_or(0)
}

/// Half a word of one.
#[inline(always)]
pub(crate) fn half(object: u64, offset: u64) -> u32 {
    Live.half(object + offset).unwrap_or(0)
}
