//! What we cost the program, in ticks of the time stamp counter: one event of some 250 is timed, and what is rare and
//! long (growth of a table) is timed each time. What is not in it: the few instructions of a hook before its event, and
//! the cache lines that our tables take from the program.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use crate::tables::arena::Arena;
use crate::thread::thread_slot::Guard;

/// One event of so many is timed. A prime: a program that alternates `malloc` and `free` must not have one of them timed
/// always and the other never.
const TIMED_EVERY: u32 = 251;
/// No event takes longer unless it grew a table, which is counted by itself, or lost its core, which is not ours.
const LONGEST_EVENT: u64 = 20_000;

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

/// Times this event, when it is its turn.
pub struct Timer(u64);

impl Timer {
    /// At the begin of an event.
    #[inline(always)]
    pub fn start(guard: &Guard) -> Self {
        let Some(seat) = guard.seat() else { return Self(0) };
        seat.events = seat.events.wrapping_add(1);
        if seat.events.is_multiple_of(TIMED_EVERY) { Self(ticks()) } else { Self(0) }
    }

    /// At its end; whether it was timed.
    #[inline(always)]
    pub fn stop(self, arena: &Arena) -> bool {
        if self.0 != 0 {
            let measured = ticks().saturating_sub(self.0).saturating_sub(READING.load(Relaxed));
            let spent = measured.min(LONGEST_EVENT);
            arena.header().hook_ticks.fetch_add(spent * u64::from(TIMED_EVERY), Relaxed);
        }
        self.0 != 0
    }
}

/// Counts the time of something rare and long.
pub fn timed<R>(arena: &Arena, work: impl FnOnce() -> R) -> R {
    let start = ticks();
    let result = work();
    arena.header().hook_ticks.fetch_add(ticks().saturating_sub(start), Relaxed);
    result
}
