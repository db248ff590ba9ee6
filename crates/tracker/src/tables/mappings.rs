//! Mappings that the program makes itself: `mmap`, `mremap`, `munmap`, `brk`. What the allocator maps for the heap does
//! not come here, since its own calls run under the guard of the allocation.
//!
//! The table is sorted by address and changed under a sequence lock: odd while someone writes. A thread that does not get
//! it within so many spins gives up and counts a loss; it never waits for good.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::block::MAX_SITE;
use heaplens_format::arena::table::MappingRecord;
use heaplens_format::arena::{MAPPING_SIZE, Region};
use heaplens_format::memory::Allocator;
use heaplens_format::{Addr, Bytes, Loss, SiteId};

use super::arena::Arena;
use super::sites::{self, Tally};
use super::slot_id::SlotId;
use super::weight::Weight;

const MOST_SPINS: usize = 20_000;

/// In place of a site: the allocator mapped it for itself, inside a call that is recorded as a whole.
const BY_ALLOCATOR: SiteId = SiteId::new(0);

/// Records a mapping; what it replaces (`MAP_FIXED`) ends.
pub fn on_map(arena: &Arena, slot: SlotId, start: Addr, length: Bytes, site: SiteId) {
    let done = with_table(arena, |table| {
        table.cut(start.get(), (start + length).get(), slot);
        table.insert(start.get(), (start + length).get(), site, slot)
    });
    if done != Some(true) {
        arena.lose(Loss::MappingLost);
    }
}

/// Notes that the allocator mapped memory for itself. No site has it: what it cuts out of it is recorded block by block.
pub fn on_map_by_allocator(arena: &Arena, start: Addr, length: Bytes) {
    on_map(arena, SlotId::NONE, start, length, BY_ALLOCATOR);
}

/// Notes a region that a pool hands out in parts, which are recorded one by one. Nothing where its regions have no mark.
pub fn on_pool_region(arena: &Arena, pool: Allocator, start: Addr, length: Bytes) {
    if let Some(mark) = pool.row().pool.and_then(|pool| pool.region_mark) {
        on_map(arena, SlotId::NONE, start, length, SiteId::new(mark));
    }
}

/// Whether an address lies in a region of a pool. Where that is not known, it does not, and a loss is counted.
pub fn is_in_pool(arena: &Arena, address: Addr) -> bool {
    let site = with_table(arena, |table| table.site_at(address));
    if site.is_none() {
        arena.lose(Loss::MappingLost);
    }
    site.flatten().is_some_and(is_pool)
}

/// Ends what lies in a range, which may be parts of mappings.
pub fn on_unmap(arena: &Arena, slot: SlotId, start: Addr, length: Bytes) {
    if with_table(arena, |table| table.cut(start.get(), (start + length).get(), slot)) != Some(true) {
        arena.lose(Loss::MappingLost);
    }
}

/// The site that made the mapping around an address.
pub fn site_of(arena: &Arena, address: Addr) -> Option<SiteId> {
    with_table(arena, |table| table.site_at(address)).flatten()
}

fn with_table<R>(arena: &Arena, action: impl FnOnce(&mut Table<'_>) -> R) -> Option<R> {
    let sequence = &arena.header().mappings_sequence;
    for _ in 0..MOST_SPINS {
        let even = sequence.load(Relaxed) & !1;
        // Acquire: pairs with the Release below.
        if sequence.compare_exchange(even, even + 1, Acquire, Relaxed).is_ok() {
            let mut table = Table { arena, count: arena.header().mappings.load(Relaxed) as usize };
            let result = action(&mut table);
            arena.header().mappings.store(table.count as u64, Relaxed);
            sequence.store(even + 2, Release);
            return Some(result);
        }
        core::hint::spin_loop();
    }
    None
}

fn is_site(site: SiteId) -> bool {
    site != BY_ALLOCATOR && !is_pool(site)
}

/// Whether this stands in place of a site for a region of a pool: `heaplens_format::memory` has the marks.
fn is_pool(site: SiteId) -> bool {
    site.get() > MAX_SITE
}

#[derive(Clone, Copy)]
struct Record {
    start: u64,
    end: u64,
    site: SiteId,
}

/// The table while it is ours.
struct Table<'a> {
    arena: &'a Arena,
    count: usize,
}

impl Table<'_> {
    fn slot(&self, index: usize) -> &MappingRecord {
        // SAFETY: `insert` reserved the region up to `count` records, and callers stay below it.
        unsafe { self.arena.record(Region::Mappings, index * MAPPING_SIZE) }
    }

    fn site_at(&self, address: Addr) -> Option<SiteId> {
        let record = self.get(self.first_ending_after(address.get()))?;
        (record.start <= address.get()).then_some(record.site)
    }

    fn get(&self, index: usize) -> Option<Record> {
        (index < self.count).then(|| {
            let slot = self.slot(index);
            let site = SiteId::new(slot.site.load(Relaxed) as u32);
            Record { start: slot.start.load(Relaxed), end: slot.end.load(Relaxed), site }
        })
    }

    fn set(&self, index: usize, record: Record) {
        let slot = self.slot(index);
        slot.start.store(record.start, Relaxed);
        slot.end.store(record.end, Relaxed);
        slot.site.store(u64::from(record.site.get()), Relaxed);
    }

    /// The index of the first mapping that ends after an address.
    fn first_ending_after(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(|record| record.end <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn insert(&mut self, start: u64, end: u64, site: SiteId, slot: SlotId) -> bool {
        let index = self.first_ending_after(start);
        if !self.make_room(index) {
            return false;
        }
        self.set(index, Record { start, end, site });
        self.count_alloc(site, slot, Weight { bytes: end - start, blocks: 1 });
        true
    }

    fn count_alloc(&self, site: SiteId, slot: SlotId, weight: Weight) {
        if is_site(site) {
            sites::on_alloc(self.arena, site, slot, weight, Tally::Apart);
        }
    }

    fn make_room(&mut self, index: usize) -> bool {
        let needed = ((self.count + 1) * MAPPING_SIZE) as u64;
        if !self.arena.ensure(Region::Mappings, needed) {
            return false;
        }
        self.count += 1;
        for at in (index + 1..self.count).rev() {
            if let Some(record) = self.get(at - 1) {
                self.set(at, record);
            }
        }
        true
    }

    fn remove(&mut self, index: usize) {
        for at in index + 1..self.count {
            if let Some(record) = self.get(at) {
                self.set(at - 1, record);
            }
        }
        self.count -= 1;
    }

    /// Ends what lies in `start..end`; a mapping that reaches beyond on both sides becomes two.
    fn cut(&mut self, start: u64, end: u64, slot: SlotId) -> bool {
        let mut index = self.first_ending_after(start);
        while let Some(record) = self.get(index).filter(|record| record.start < end) {
            let (from, to) = (record.start.max(start), record.end.min(end));
            let (before, after) = (record.start < from, to < record.end);
            let kept = usize::from(before) + usize::from(after);
            let freed = Weight { bytes: to - from, blocks: u64::from(kept == 0) };
            if is_site(record.site) {
                sites::on_free(self.arena, record.site, slot, freed, Tally::Apart);
            }
            match (before, after) {
                (false, false) => {
                    self.remove(index);
                    continue;
                }
                (true, false) => self.set(index, Record { end: from, ..record }),
                (false, true) => self.set(index, Record { start: to, ..record }),
                (true, true) => {
                    if !self.make_room(index) {
                        return false;
                    }
                    self.set(index, Record { end: from, ..record });
                    self.set(index + 1, Record { start: to, ..record });
                    let piece = Weight { bytes: 0, blocks: 1 };
                    self.count_alloc(record.site, slot, piece);
                    return true;
                }
            }
            index += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use heaplens_format::NodeId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    proptest! {
        /// The naive model remembers the site of every page.
        #[test]
        fn the_table_equals_a_map_of_pages(
            events in prop::collection::vec((0u64..40, 1u64..12, prop::option::of(0usize..4)), 1..120)
        ) {
            let arena = scratch();
            let mut ids: Vec<_> =
                (1..4).map(|n| sites::create(&arena, NodeId::new(n), SlotId::NONE).unwrap()).collect();
            let mark = Allocator::FrameworkPool.row().pool.and_then(|pool| pool.region_mark).unwrap();
            ids.extend([BY_ALLOCATOR, SiteId::new(mark)]);
            let mut model = BTreeMap::new();
            for (page, pages, site) in events {
                let (start, length) = (Addr::new(page * 4096), Bytes::new(pages * 4096));
                match site {
                    Some(which) => {
                        on_map(&arena, SlotId::NONE, start, length, ids[which]);
                        model.extend((page..page + pages).map(|page| (page, ids[which])));
                    }
                    None => {
                        on_unmap(&arena, SlotId::NONE, start, length);
                        model.retain(|at, _| !(page..page + pages).contains(at));
                    }
                }
            }
            for page in 0..60 {
                prop_assert_eq!(site_of(&arena, Addr::new(page * 4096 + 5)), model.get(&page).copied());
            }
            prop_assert_eq!(arena.header().losses[Loss::MappingLost as usize].load(Relaxed), 0);
        }
    }
}
