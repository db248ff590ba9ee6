//! What we cost the program, in ticks of the time stamp counter: one event of some 250 is timed, and what is rare and
//! long (growth of a table) is timed each time. What is not in it: the few instructions of a hook before its event, and
//! the cache lines that our tables take from the program.

use core::sync::atomic::Ordering::Relaxed;

use super::guard::Guard;
use crate::process::clock::{reading_cost, ticks};
use crate::tables::arena::Arena;

/// One event of so many is timed. A prime: a program that alternates `malloc` and `free` must not have one of them timed
/// always and the other never.
const TIMED_EVERY: u32 = 251;
/// No event takes longer unless it grew a table, which is counted by itself, or lost its core, which is not ours.
const LONGEST_EVENT: u64 = 20_000;

/// Times this event, when it is its turn.
pub struct Timer(u64);

impl Timer {
    /// At the begin of an event.
    #[inline(always)]
    pub fn start(guard: &Guard) -> Self {
        let Some(slot) = guard.slot() else { return Self(0) };
        slot.events = slot.events.wrapping_add(1);
        if slot.events.is_multiple_of(TIMED_EVERY) { Self(ticks()) } else { Self(0) }
    }

    /// At its end; whether it was timed.
    #[inline(always)]
    pub fn stop(self, arena: &Arena) -> bool {
        if self.0 != 0 {
            let measured = ticks().saturating_sub(self.0).saturating_sub(reading_cost());
            let spent = measured.min(LONGEST_EVENT);
            arena.header().hook_ticks.fetch_add(spent * u64::from(TIMED_EVERY), Relaxed);
        }
        self.0 != 0
    }
}
