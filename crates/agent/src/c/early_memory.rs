//! Memory for the few allocations that `dlsym` makes while we look up the real allocator. It is never given back.

use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

const LENGTH: usize = 64 << 10;
const ALIGNMENT: usize = 16;

#[repr(C, align(16))]
struct Memory(core::cell::UnsafeCell<[u8; LENGTH]>);
// SAFETY: parts are handed out once each, by an atomic counter.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(core::cell::UnsafeCell::new([0; LENGTH]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// Zeroed memory, or null when there is none left. The 16 bytes before it hold its size.
pub fn allocate(size: usize) -> *mut c_void {
    let Some(whole) = size.checked_next_multiple_of(ALIGNMENT).and_then(|size| size.checked_add(ALIGNMENT))
    else {
        return core::ptr::null_mut();
    };
    let start = USED.fetch_add(whole, Relaxed);
    if start.saturating_add(whole) > LENGTH {
        return core::ptr::null_mut();
    }
    // SAFETY: `start + whole` ≤ LENGTH, and the range was handed out to nobody else.
    unsafe {
        let base = MEMORY.0.get().cast::<u8>().add(start);
        base.cast::<usize>().write(size);
        base.add(ALIGNMENT).cast()
    }
}

/// Whether a block came from here.
#[inline(always)]
pub fn owns(block: *const c_void) -> bool {
    (block as usize).wrapping_sub(MEMORY.0.get() as usize) < LENGTH
}

/// The size of a block that came from here.
pub fn size_of(block: *const c_void) -> usize {
    // SAFETY: `allocate` wrote the size there.
    unsafe { block.cast::<u8>().sub(ALIGNMENT).cast::<usize>().read() }
}
