//! Thread slots without threads, for the tests of interleavings: their threads share one of the process, and its one word.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::thread_slot::{COUNT, SLOTS, ThreadSlot, free_slot, new_slot};
use crate::sys;
use crate::tables::slot_id::SlotId;

/// A slot that somebody holds.
#[derive(Debug)]
pub struct Held(*mut ThreadSlot);

// SAFETY: a slot belongs to whoever holds it, on whichever thread that is.
unsafe impl Send for Held {}

impl Held {
    /// Its number.
    pub fn id(&self) -> SlotId {
        // SAFETY: slots stay until `forget_all`, which no holder survives.
        unsafe { (*self.0).id() }
    }

    /// Uses it: whether nobody else did meanwhile.
    pub fn is_alone(&self) -> bool {
        // SAFETY: as above; every field is a number, and the word `events` serves no other purpose here.
        unsafe {
            let before = (*self.0).events;
            (*self.0).events = before + 1;
            (*self.0).taken.load(Relaxed) == 1 && (*self.0).events == before + 1
        }
    }
}

/// What a thread does at its first event.
pub fn take() -> Option<Held> {
    free_slot().or_else(|| new_slot().ok()).map(Held)
}

/// What it does at its end.
pub fn give_back(held: Held) {
    // SAFETY: as above. Release: as in `on_thread_end`.
    unsafe { (*held.0).taken.store(0, Release) };
}

/// As if no thread had ever come. Nobody may hold a slot.
pub fn forget_all() {
    let count = COUNT.swap(0, AcqRel) as usize;
    for entry in &SLOTS[..count] {
        let slot = entry.load(Acquire);
        entry.store(core::ptr::null_mut(), Relaxed);
        // SAFETY: `new_slot` mapped so much, and nobody holds it.
        unsafe { sys::unmap(slot as usize, size_of::<ThreadSlot>()) };
    }
}
