//! The time stamp counter of the processor, as long as the program may read it.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use heaplens_format::atomic::AtomicU64 as SharedU64;

/// Set for good when the program forbids itself to read the counter.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// The counter may not be read any more: it would fault.
pub fn stop_clock() {
    STOPPED.store(true, Relaxed);
}

/// The time stamp counter; 0 when it may not be read.
pub fn ticks() -> u64 {
    if STOPPED.load(Relaxed) {
        return 0;
    }
    // SAFETY: every x86-64 processor has a time stamp counter, and Linux lets programs read it.
    unsafe { _rdtsc() }
}

/// What two readings of the counter cost by themselves.
static READING: AtomicU64 = AtomicU64::new(0);

/// Finds out what a reading costs; once, at the start.
pub fn calibrate() {
    const READINGS: u64 = 32;
    let start = ticks();
    for _ in 0..READINGS {
        core::hint::black_box(ticks());
    }
    READING.store(ticks().saturating_sub(start) / READINGS, Relaxed);
}

/// What a reading costs, as [`calibrate`] found.
#[inline(always)]
pub(crate) fn reading_cost() -> u64 {
    READING.load(Relaxed)
}

/// Adds the time of something rare and long to a sum.
pub fn timed<R>(sum: &SharedU64, work: impl FnOnce() -> R) -> R {
    let start = ticks();
    let result = work();
    sum.fetch_add(ticks().saturating_sub(start), Relaxed);
    result
}
