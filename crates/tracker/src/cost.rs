//! What we cost the program, in ticks of the time stamp counter: one event of 256 is timed, and what is rare and long
//! (growth of a table) is timed each time.

use core::arch::x86_64::_rdtsc;
use core::sync::atomic::Ordering::Relaxed;

use crate::arena::Arena;
use crate::seat::Guard;

/// One event of so many is timed.
const TIMED_EVERY: u32 = 256;
/// No event takes longer unless it grew a table, which is counted by itself, or lost its core, which is not ours.
const LONGEST_EVENT: u64 = 20_000;

/// The time stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has a time stamp counter, and Linux lets programs read it.
    unsafe { _rdtsc() }
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

    /// At its end.
    #[inline(always)]
    pub fn stop(self, arena: &Arena) {
        if self.0 != 0 {
            let spent = ticks().saturating_sub(self.0).min(LONGEST_EVENT);
            arena.header().hook_ticks.fetch_add(spent * u64::from(TIMED_EVERY), Relaxed);
        }
    }
}

/// Counts the time of something rare and long.
pub fn timed<R>(arena: &Arena, work: impl FnOnce() -> R) -> R {
    let start = ticks();
    let result = work();
    arena.header().hook_ticks.fetch_add(ticks().saturating_sub(start), Relaxed);
    result
}
