//! The records of loops in the arena: one for each loop and thread.

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_format::arena::Region;
use heaplens_format::arena::marks::{LOOP_COUNTED, LOOP_SIZE, LoopRecord};

use super::running::{DEEPEST, Running};
use crate::sys;
use crate::tables::arena::Arena;
use crate::tables::slot_id::SlotId;

/// The most loops of a process that are kept.
const MOST_LOOPS: u64 = 4096;

/// One of them.
pub(super) fn record(arena: &Arena, number: u32) -> &LoopRecord {
    // SAFETY: a number that `record_of` gave out.
    unsafe { arena.record(Region::Loops, number as usize * LOOP_SIZE) }
}

/// Says something about its count, from now on.
pub(super) fn flag(arena: &Arena, number: u32, flags: u32) {
    let record = record(arena, number);
    record.flags.store(record.flags.load(Relaxed) | flags, Relaxed);
}

/// A loop that was alone when it was first seen is inside another one now; in a recursion the first word counts.
pub(super) fn adopt(arena: &Arena, number: u32, parent: u32) -> bool {
    let mut ancestor = parent;
    for _ in 0..DEEPEST {
        if ancestor == number {
            return false;
        }
        if ancestor == 0 {
            record(arena, number).parent.store(parent, Relaxed);
            return parent != 0;
        }
        ancestor = record(arena, ancestor).parent.load(Relaxed);
    }
    false
}

/// The record of a loop in this thread, found or made. `None`: there are too many.
#[cold]
pub(super) fn record_of(arena: &Arena, running: &Running, slot: SlotId, parent: u32) -> Option<u32> {
    let location = u64::from(running.code) << 32 | u64::from(running.first);
    let extent = arena.extent(Region::Loops);
    let used = extent.used.load(Relaxed).min(extent.reserved.load(Relaxed)) / LOOP_SIZE as u64;
    let known = (1..used as u32).find(|&number| {
        let known = record(arena, number);
        known.location.load(Relaxed) == location && known.slot.load(Relaxed) == slot.get()
    });
    if known.is_some() || used >= MOST_LOOPS {
        return known;
    }
    if used == 0 {
        arena.take(Region::Loops, LOOP_SIZE as u64)?; // record 0 stands for "none"
    }
    let number = u32::try_from(arena.take(Region::Loops, LOOP_SIZE as u64)? / LOOP_SIZE).ok()?;
    let record = record(arena, number);
    record.last.store(running.end.saturating_sub(1), Relaxed);
    record.flags.store(LOOP_COUNTED, Relaxed);
    record.parent.store(parent, Relaxed);
    record.slot.store(slot.get(), Relaxed);
    record.first_ns.store(sys::monotonic_ns(), Relaxed);
    // Release: a reader that sees the location sees a whole record.
    record.location.store(location, Release);
    Some(number)
}

/// The record of the loop around one, 0 where there is none.
pub(super) fn parent_of(arena: &Arena, number: u32) -> u32 {
    record(arena, number).parent.load(Relaxed)
}
