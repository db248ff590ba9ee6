//! What sites had at marks, kept at their first change afterwards (`format::arena::marks`).

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_format::Loss;
use heaplens_format::arena::Region;
use heaplens_format::arena::marks::{CHANGE_SIZE, ChangeRecord};

use super::arena::Arena;
use super::weight::Weight;

/// Space that the table of changes must have left: threads that take an entry at the same time may go a little further.
const SPARE: u64 = 64 * CHANGE_SIZE as u64;

/// A record of SITES is about to change for the first time since `mark`: keeps what it had.
#[inline(never)]
pub fn keep_value(arena: &Arena, record: u32, mark: u32, live: Weight) {
    let extent = arena.extent(Region::Changes);
    if extent.used.load(Relaxed) + SPARE > extent.capacity.load(Relaxed) {
        return arena.lose(Loss::ValueLost);
    }
    let Some(offset) = arena.take(Region::Changes, CHANGE_SIZE as u64) else {
        return arena.lose(Loss::ValueLost);
    };
    // SAFETY: the entry was just taken.
    let entry: &ChangeRecord = unsafe { arena.record(Region::Changes, offset) };
    entry.live_bytes.store(live.bytes, Relaxed);
    entry.live_blocks.store(live.blocks, Relaxed);
    entry.record.store(record, Relaxed);
    // Release: a reader that sees the mark sees a whole entry.
    entry.mark.store(mark, Release);
}
