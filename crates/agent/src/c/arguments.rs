//! What functions of the C library were given, checked as Memcheck does: in `heaplens memcheck` alone. Sizes are checked where they failed. All of it is in the
//! flavour of the agent that `memcheck` loads (feature `arguments`), and so are the hooks of functions that copy: one of `memcpy` would cost every
//! program some nanoseconds a call.

use core::ffi::c_void;

use heaplens_format::arena::error::{CalledFunction, ErrorKind};
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, tracker};

/// Whether this is the flavour for `memcheck`. Its checks cost programs under `heaplens run` nothing.
pub(crate) const IS_MEMCHECK: bool = cfg!(feature = "arguments");
/// glibc's per-thread caches hand out blocks of up to so many bytes without filling them.
const LARGEST_CACHED: usize = 1032;

/// An allocation found no memory: if no memory could be so large, the size was negative.
#[cold]
pub(crate) fn check_size(function: CalledFunction, size: usize, caller: Caller) {
    if IS_MEMCHECK && tracker().is_memcheck() && size.cast_signed() < 0 {
        let numbers = (Addr::new(0), Bytes::ZERO, size as u64);
        tracker().on_bad_argument((ErrorKind::FishySize, function), numbers, caller);
    }
}

/// The same for `calloc`: which of its arguments it was.
#[cold]
#[inline(never)]
pub(crate) fn check_calloc(count: usize, size: usize, caller: Caller) {
    if IS_MEMCHECK && tracker().is_memcheck() {
        let is_count = count.cast_signed() < 0;
        let value = if is_count { count } else { size };
        if value.cast_signed() < 0 {
            let numbers = (Addr::new(0), Bytes::new(u64::from(is_count)), value as u64);
            tracker().on_bad_argument((ErrorKind::FishySize, CalledFunction::CALLOC), numbers, caller);
        }
    }
}

/// `realloc` to no bytes, which is not what any standard promises.
#[cold]
#[inline(never)]
pub(crate) fn check_realloc_to_zero(block: *mut c_void, caller: Caller) {
    if IS_MEMCHECK && tracker().is_memcheck() {
        let numbers = (Addr::new(block as u64), Bytes::ZERO, 0);
        tracker().on_bad_argument((ErrorKind::ReallocZero, CalledFunction::REALLOC), numbers, caller);
    }
}

/// Clears what an earlier owner has left in a block from byte `from` on, where the allocator does not: its words would look like
/// pointers.
#[inline(always)]
pub(crate) fn clear(block: *mut c_void, from: usize, size: usize) {
    if IS_MEMCHECK && tracker().is_memcheck() && !block.is_null() && from < size && size <= LARGEST_CACHED {
        // SAFETY: the block was just allocated with this size, and nobody has written behind `from`.
        unsafe { block.cast::<u8>().add(from).write_bytes(0, size - from) };
    }
}
