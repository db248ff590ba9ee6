//! Counters of sites, the live total and its peak, and what each site held at the peak.
//!
//! A site belongs to the thread slot that made it: that thread counts with plain stores, everyone else in a second record with
//! atomic additions; the truth is the sum. A thread that often allocates from a stack whose site is another's gets a site of
//! its own for it, so a stack may have several, whose sum is the truth. The value at the peak is kept lazily, in constant
//! time per event:
//!
//! ```text
//!   event ──▶ site.moment == now? ──no──▶ peak_* := live_* and live_* into CHANGES    (first change since that peak or mark)
//!                   │ yes                          │
//!                   ▼                              ▼
//!              count the event ◀───────────────────┘       then: live_bytes += n, and peak := live_bytes if larger
//! ```
//!
//! A peak is named by its bytes, which only ever rise, and so do marks. A site that nobody touched since the peak still
//! holds the value that it had then; one that was touched has it in `peak_*`. Marks are likewise (`format::arena::marks`).

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use heaplens_format::arena::block::MAX_SITE;
use heaplens_format::arena::marks::Moment;
use heaplens_format::arena::table::{SiteIdentity, SiteRecord};
use heaplens_format::arena::{Region, SITE_SIZE};
use heaplens_format::atomic::AtomicU64;
use heaplens_format::{Loss, NodeId, SiteId};

use super::arena::Arena;
use super::changes::keep_value;
use super::slot_id::SlotId;
use super::weight::Weight;

/// In `moment` of a second record: a thread is copying the values.
const COPYING: u64 = u64::MAX;
/// How long to wait for it: a copy is three stores, so only a thread that lost its core takes longer.
const MOST_SPINS: usize = 2_000;

/// What an event is counted in, beside its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// The heap, whose live total and peak are kept.
    Heap,
    /// Nothing: mappings, blocks that are part of other memory (objects in an arena), and events of no memory.
    Apart,
}

#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

/// Takes a number for the site of a node. `None`: the arena is full, or 16 million sites are.
pub fn create(arena: &Arena, node: NodeId, owner: SlotId) -> Option<SiteId> {
    let number = take_record(arena)?;
    let identity = SiteIdentity::new(node.get(), owner.get())?;
    // Release: a reader that sees the identity sees a site.
    record(arena, number).identity.store(identity.raw(), Release);
    Some(SiteId::new(number))
}

/// All that a site counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What is live.
    pub live: Weight,
    /// What was ever allocated.
    pub allocated: Weight,
}

/// Every site, with its node, as it is now. Others go on counting.
pub fn all(arena: &Arena) -> impl Iterator<Item = (NodeId, Totals)> {
    let extent = arena.extent(Region::Sites);
    // Acquire: as in `Arena::take`.
    let end = extent.used.load(Relaxed).min(extent.reserved.load(Acquire));
    (1..(end / SITE_SIZE as u64) as u32).filter_map(|number| {
        let site = record(arena, number);
        // Acquire: pairs with the Release in `create` and `add_second`.
        let identity = SiteIdentity::from_raw(site.identity.load(Acquire))?;
        Some((NodeId::new(identity.node()), totals(site, record(arena, identity.second()))))
    })
}

/// The sum of both records; record 0, which nobody counts in, where there is no second one. What is freed is read first: what was
/// freed by then was allocated before.
fn totals(own: &SiteRecord, second: &SiteRecord) -> Totals {
    let sum = |field: fn(&SiteRecord) -> &AtomicU64| {
        field(own).load(Acquire).wrapping_add(field(second).load(Acquire))
    };
    let freed = Weight { bytes: sum(|site| &site.freed_bytes), blocks: sum(|site| &site.freed_blocks) };
    let allocated =
        Weight { bytes: sum(|site| &site.allocated_bytes), blocks: sum(|site| &site.allocated_blocks) };
    let live = Weight {
        bytes: allocated.bytes.saturating_sub(freed.bytes),
        blocks: allocated.blocks.saturating_sub(freed.blocks),
    };
    Totals { live, allocated }
}

/// The node of a site, where the site is another thread slot's.
#[inline]
pub fn node_of_others(arena: &Arena, id: SiteId, slot: SlotId) -> Option<NodeId> {
    let identity = SiteIdentity::from_raw(record(arena, id.get()).identity.load(Relaxed))?;
    (identity.slot() != slot.get()).then(|| NodeId::new(identity.node()))
}

/// The node of a site.
pub fn node(arena: &Arena, id: SiteId) -> Option<NodeId> {
    let identity = SiteIdentity::from_raw(record(arena, id.get()).identity.load(Relaxed))?;
    Some(NodeId::new(identity.node()))
}

fn take_record(arena: &Arena) -> Option<u32> {
    if arena.extent(Region::Sites).used.load(Relaxed) == 0 {
        arena.take(Region::Sites, SITE_SIZE as u64)?; // record 0 stands for "none"
    }
    let number = u32::try_from(arena.take(Region::Sites, SITE_SIZE as u64)? / SITE_SIZE).ok()?;
    (number <= MAX_SITE).then_some(number)
}

/// Counts an allocation.
#[inline]
pub fn on_alloc(arena: &Arena, id: SiteId, slot: SlotId, weight: Weight, tally: Tally) {
    count(arena, id, slot, weight, Direction::In);
    if tally == Tally::Heap {
        let hot = &arena.header().hot;
        let live = hot.live_bytes.fetch_add(weight.bytes, Relaxed).wrapping_add(weight.bytes);
        let now = Moment::from_raw(hot.moment.load(Relaxed));
        if live > now.peak() {
            raise_peak(&hot.moment, now, live);
        }
    }
}

/// The largest moment wins; one that was made of an older mark is made again.
#[inline]
fn raise_peak(word: &AtomicU64, mut now: Moment, live: u64) {
    loop {
        let before = Moment::from_raw(word.fetch_max(now.with_peak(live).raw(), Relaxed));
        if before.mark() == now.mark() || before.peak() >= live {
            return;
        }
        now = before;
    }
}

/// Counts the end of a block.
#[inline]
pub fn on_free(arena: &Arena, id: SiteId, slot: SlotId, weight: Weight, tally: Tally) {
    count(arena, id, slot, weight, Direction::Out);
    if tally == Tally::Heap {
        arena.header().hot.live_bytes.fetch_sub(weight.bytes, Relaxed);
    }
}

/// Undoes the counting of a heap allocation. Sums of counters wrap, so that a negative number can be added.
pub fn take_back(arena: &Arena, id: SiteId, slot: SlotId, weight: Weight) {
    let negative = Weight { bytes: weight.bytes.wrapping_neg(), blocks: weight.blocks.wrapping_neg() };
    count(arena, id, slot, negative, Direction::In);
    arena.header().hot.live_bytes.fetch_sub(weight.bytes, Relaxed);
}

#[inline(always)]
fn count(arena: &Arena, id: SiteId, slot: SlotId, weight: Weight, direction: Direction) {
    let site = record(arena, id.get());
    let now = Moment::from_raw(arena.header().hot.moment.load(Relaxed));
    let Some(identity) = SiteIdentity::from_raw(site.identity.load(Relaxed)) else { return };
    if slot == SlotId::NONE || identity.slot() != slot.get() {
        return count_shared(arena, site, identity, now, weight, direction);
    }
    let before = site.moment.load(Relaxed);
    if before != now.raw() {
        keep(arena, id.get(), site, Moment::from_raw(before), now);
        site.moment.store(now.raw(), Relaxed);
    }
    let (bytes, blocks) = fields(site, direction);
    bytes.store(bytes.load(Relaxed).wrapping_add(weight.bytes), Relaxed);
    blocks.store(blocks.load(Relaxed).wrapping_add(weight.blocks), Relaxed);
}

#[inline(never)]
fn count_shared(
    arena: &Arena,
    site: &SiteRecord,
    identity: SiteIdentity,
    now: Moment,
    weight: Weight,
    direction: Direction,
) {
    let second = match identity.second() {
        0 => add_second(arena, site),
        number => Some(number),
    };
    let Some(second) = second else { return arena.lose(Loss::ArenaFull) };
    let shared = record(arena, second);
    if shared.moment.load(Acquire) != now.raw() && !keep_shared(arena, second, shared, now) {
        arena.lose(Loss::PeakRace);
    }
    let (bytes, blocks) = fields(shared, direction);
    bytes.fetch_add(weight.bytes, Relaxed);
    blocks.fetch_add(weight.blocks, Relaxed);
}

/// Gives a site its second record; of two threads that try at once, one record is wasted.
#[cold]
fn add_second(arena: &Arena, site: &SiteRecord) -> Option<u32> {
    let number = take_record(arena)?;
    loop {
        let identity = SiteIdentity::from_raw(site.identity.load(Acquire))?;
        if identity.second() != 0 {
            return Some(identity.second());
        }
        // AcqRel: the zeroed record is published with its number.
        let new = identity.with_second(number).raw();
        if site.identity.compare_exchange(identity.raw(), new, AcqRel, Acquire).is_ok() {
            return Some(number);
        }
    }
}

/// Keeps the live value for a peak and for marks, once, among threads that may all find it missing; `false` when one was
/// too slow.
fn keep_shared(arena: &Arena, number: u32, line: &SiteRecord, now: Moment) -> bool {
    for _ in 0..MOST_SPINS {
        // Acquire: pairs with the Release below, so that nobody counts before the copy is done.
        let before = line.moment.load(Acquire);
        // A later one: this thread read the moment before another one raised it, and what the site held is kept already.
        if before != COPYING && before >= now.raw() {
            return true;
        }
        if before != COPYING && line.moment.compare_exchange(before, COPYING, AcqRel, Acquire).is_ok() {
            let (before, value) = (Moment::from_raw(before), live(line));
            if before.peak() != now.peak() {
                keep_at_peak(line, value);
            }
            line.moment.store(now.raw(), Release);
            // Behind it: a fresh page of the table takes longer than others wait.
            if before.mark() != now.mark() {
                keep_value(arena, number, now.mark(), value);
            }
            return true;
        }
        core::hint::spin_loop();
    }
    false
}

/// Keeps the live value for whatever came since the last change.
#[inline(always)]
fn keep(arena: &Arena, number: u32, line: &SiteRecord, before: Moment, now: Moment) {
    let value = live(line);
    if before.peak() != now.peak() {
        keep_at_peak(line, value);
    }
    if before.mark() != now.mark() {
        keep_value(arena, number, now.mark(), value);
    }
}

#[inline(always)]
fn live(line: &SiteRecord) -> Weight {
    let live =
        |allocated: &AtomicU64, freed: &AtomicU64| allocated.load(Relaxed).wrapping_sub(freed.load(Relaxed));
    Weight {
        bytes: live(&line.allocated_bytes, &line.freed_bytes),
        blocks: live(&line.allocated_blocks, &line.freed_blocks),
    }
}

#[inline(always)]
fn keep_at_peak(line: &SiteRecord, value: Weight) {
    line.peak_bytes.store(value.bytes, Relaxed);
    line.peak_blocks.store(value.blocks, Relaxed);
}

#[inline(always)]
fn fields(line: &SiteRecord, direction: Direction) -> (&AtomicU64, &AtomicU64) {
    match direction {
        Direction::In => (&line.allocated_bytes, &line.allocated_blocks),
        Direction::Out => (&line.freed_bytes, &line.freed_blocks),
    }
}

#[inline(always)]
fn record(arena: &Arena, number: u32) -> &SiteRecord {
    // SAFETY: numbers come from `take_record`, or from the block table and identities, which hold only such numbers.
    unsafe { arena.record(Region::Sites, number as usize * SITE_SIZE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn one(bytes: u64) -> Weight {
        Weight { bytes, blocks: 1 }
    }

    fn peak_of(arena: &Arena) -> u64 {
        Moment::from_raw(arena.header().hot.moment.load(Relaxed)).peak()
    }

    fn at_peak(arena: &Arena, id: SiteId) -> (i64, i64) {
        let peak = peak_of(arena);
        let part = |number: u32| {
            let line = record(arena, number);
            if number != 0 && Moment::from_raw(line.moment.load(Relaxed)).peak() != peak {
                keep_at_peak(line, live(line));
            }
            (line.peak_bytes.load(Relaxed) as i64, line.peak_blocks.load(Relaxed) as i64)
        };
        let identity = SiteIdentity::from_raw(record(arena, id.get()).identity.load(Relaxed)).unwrap();
        let (owner, shared) = (part(id.get()), part(identity.second()));
        (owner.0.wrapping_add(shared.0), owner.1.wrapping_add(shared.1))
    }

    proptest! {
        /// The naive model copies all counters whenever the total rises above its maximum.
        #[test]
        fn the_value_at_the_peak_equals_that_of_a_full_copy(
            events in prop::collection::vec((0usize..5, 0u32..3, 1u64..1000, any::<bool>()), 1..300)
        ) {
            let arena = scratch();
            let ids: Vec<_> = (0..5).map(|n| create(&arena, NodeId::new(n + 1), SlotId::new(1 + n % 2)).unwrap()).collect();
            let mut live: Vec<Vec<u64>> = vec![vec![]; 5];
            let (mut total, mut peak) = (0u64, 0u64);
            let mut copy = vec![(0i64, 0i64); 5];
            for (which, slot, bytes, is_alloc) in events {
                let slot = SlotId::new(slot);
                if is_alloc {
                    on_alloc(&arena, ids[which], slot, one(bytes), Tally::Heap);
                    live[which].push(bytes);
                    total += bytes;
                    if total > peak {
                        peak = total;
                        copy = live.iter().map(|site| (site.iter().sum::<u64>() as i64, site.len() as i64)).collect();
                    }
                } else if let Some(bytes) = live[which].pop() {
                    on_free(&arena, ids[which], slot, one(bytes), Tally::Heap);
                    total -= bytes;
                }
            }
            prop_assert_eq!(arena.header().hot.live_bytes.load(Relaxed), total);
            prop_assert_eq!(peak_of(&arena), peak);
            let found: Vec<_> = ids.iter().map(|&id| at_peak(&arena, id)).collect();
            prop_assert_eq!(found, copy);
        }
    }

    #[test]
    fn threads_that_free_together_after_a_peak_leave_its_value_exact() {
        for _ in 0..50 {
            let arena = scratch();
            let id = create(&arena, NodeId::new(1), SlotId::new(9)).unwrap();
            for _ in 0..4000 {
                on_alloc(&arena, id, SlotId::new(1), one(10), Tally::Heap);
            }
            std::thread::scope(|scope| {
                for slot in 1..5 {
                    let arena = &arena;
                    scope.spawn(move || {
                        (0..1000).for_each(|_| on_free(arena, id, SlotId::new(slot), one(10), Tally::Heap));
                    });
                }
            });
            assert_eq!(at_peak(&arena, id), (40_000, 4000));
            assert_eq!(arena.header().hot.live_bytes.load(Relaxed), 0);
            assert_eq!(arena.header().losses[Loss::PeakRace as usize].load(Relaxed), 0);
        }
    }
}
