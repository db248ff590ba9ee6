//! Pools: regions that a framework hands out in parts, which are the blocks.

use heaplens_format::arena::Family;
use heaplens_format::memory::Allocator;
use heaplens_format::{Addr, Bytes};

use crate::lifecycle::is_recording;
use crate::tables::mappings;
use crate::thread::guard::Guard;
use crate::tracker::Tracker;
use crate::unwind::Caller;

impl Tracker {
    /// A pool took memory that it will hand out in parts.
    #[cold]
    pub fn on_pool_region(&self, guard: &Guard, pool: Allocator, start: Addr, length: Bytes) {
        if is_recording(guard) {
            mappings::on_pool_region(&self.arena, pool, start, length);
        }
    }

    /// A pool is about to give a region back; whether it was noted. Where an allocator has mapped it, it is the allocator's again.
    #[cold]
    pub fn on_pool_region_end(&self, guard: &Guard, start: Addr, length: Bytes, is_allocators: bool) -> bool {
        let is_noted = is_recording(guard) && mappings::is_in_pool(&self.arena, start);
        match (is_noted, is_allocators) {
            (false, _) => {}
            (true, false) => mappings::on_unmap(&self.arena, guard.slot_id(), start, length),
            (true, true) => mappings::on_map_by_allocator(&self.arena, start, length),
        }
        is_noted
    }

    /// A pool handed out a part of a region. What lies elsewhere (the memory of a device) is not ours to count.
    pub fn on_pool_part(&self, guard: &Guard, addr: Addr, size: Bytes, caller: Caller) {
        if is_recording(guard) && mappings::is_in_pool(&self.arena, addr) {
            self.on_alloc(guard, addr, size, Family::PoolPart, caller);
        }
    }

    /// A pool is about to take a part back. A block of `malloc` that it only passed on stays: its own `free` is yet to come.
    pub fn on_pool_part_end(&self, guard: &Guard, addr: Addr) {
        if is_recording(guard)
            && self.blocks.find(&self.arena, addr).is_some_and(|block| block.family == Family::PoolPart)
            && let Some(block) = self.blocks.remove(&self.arena, addr)
        {
            self.blocks.forget_freed(&self.arena, addr);
            self.count_free(guard, block);
        }
    }
}
