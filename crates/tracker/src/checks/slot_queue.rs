//! Slots of one length that are free again, the first that came first. Whoever finds it taken goes without.

use core::hint::spin_loop;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

use super::guard_slot::GuardSlot;

const SPINS: usize = 200;

/// Slots in a row: numbers plus 1, 0 for none.
#[derive(Debug)]
pub(super) struct SlotQueue {
    is_taken: AtomicBool,
    first: AtomicU32,
    last: AtomicU32,
}

impl SlotQueue {
    pub(super) const fn new() -> Self {
        Self { is_taken: AtomicBool::new(false), first: AtomicU32::new(0), last: AtomicU32::new(0) }
    }

    /// Forgets all; only while nobody else can be at it.
    pub(super) fn clear(&self) {
        self.first.store(0, Relaxed);
        self.last.store(0, Relaxed);
        self.is_taken.store(false, Relaxed);
    }

    /// Adds a slot; where the queue is taken, its addresses are not used again.
    pub(super) fn put<'a>(&self, slot: &GuardSlot, number: u32, find: impl FnOnce(u32) -> &'a GuardSlot) {
        self.alone(|| {
            slot.next.store(0, Relaxed);
            match self.last.load(Relaxed).checked_sub(1) {
                Some(last) => find(last).next.store(number + 1, Relaxed),
                None => self.first.store(number + 1, Relaxed),
            }
            self.last.store(number + 1, Relaxed);
        });
    }

    /// Takes the first one.
    pub(super) fn take<'a>(&self, find: impl FnOnce(u32) -> &'a GuardSlot) -> Option<&'a GuardSlot> {
        self.alone(|| {
            let slot = find(self.first.load(Relaxed).checked_sub(1)?);
            self.first.store(slot.next.load(Relaxed), Relaxed);
            if slot.next.load(Relaxed) == 0 {
                self.last.store(0, Relaxed);
            }
            Some(slot)
        })
        .flatten()
    }

    fn alone<R>(&self, action: impl FnOnce() -> R) -> Option<R> {
        for _ in 0..SPINS {
            // Acquire: pairs with the Release below.
            if self.is_taken.compare_exchange_weak(false, true, Acquire, Relaxed).is_ok() {
                let result = action();
                self.is_taken.store(false, Release);
                return Some(result);
            }
            spin_loop();
        }
        None
    }
}
