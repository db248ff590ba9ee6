//! Guarded blocks: each on pages of its own, next to a page that nobody may touch, so that the access itself is caught which goes too far.
//! When the program frees one, its pages are taken away as well, and stay so for long: then the access is caught that comes too late.
//!
//! ```text
//!   │ guard │ block …… slack │ guard │ slack …… block │ guard │          --guard-side=end: at the end of its pages, as its alignment allows
//!           ▲ a slot: the pages of a block, and the guard after it        what lies around it on its pages has a canary
//! ```
//!
//! All slots lie in one range of addresses, which is mapped without access once. Slots are taken one after the other; when the range is used
//! up, those that were freed first come again. Nothing here waits: whoever does not get a slot gets an ordinary block.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use heaplens_format::arena::PAGE;
use heaplens_format::atomic::AtomicU64;
use heaplens_format::environment::GuardSide;

use super::canary;
use super::guard_slot::GuardSlot;
use super::limits::Limits;
use super::slot_queue::SlotQueue;
use crate::process::clock::ticks;
use crate::sys;

/// Of the range of addresses.
const LENGTH: usize = 16 << 30;
const PAGES: usize = LENGTH / PAGE;
/// A slot has two pages at least.
const SLOTS: usize = PAGES / 2;
/// The most pages of a slot that is used again.
const CLASSES: usize = 16;
/// The most bytes around a block that have a canary, on each side.
const WATCHED: usize = 64;

/// What a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SlotState {
    /// It has no block, and had none.
    Unused = 0,
    /// Its block is live.
    Live = 1,
    /// Its block was freed.
    Freed = 2,
}

/// What a place in the range is.
#[derive(Clone, Copy, Debug)]
pub struct Guarded<'a> {
    /// The slot that it is about.
    pub slot: &'a GuardSlot,
    /// Its block.
    pub start: usize,
    /// Of the block.
    pub size: usize,
    /// What the slot was at that moment.
    pub state: SlotState,
}

/// Why a block is not guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Refusal {
    /// More mappings than the system allows a process.
    Maps = 0,
    /// More memory than guarded blocks may have.
    Memory = 1,
    /// No addresses are left, or the system gave no pages.
    Space = 2,
    /// Its size, or its alignment.
    Shape = 3,
}

/// The guarded blocks of this process.
#[derive(Debug)]
pub struct GuardPages {
    /// Where the range begins; 0: there is none.
    start: AtomicUsize,
    slots: AtomicUsize,
    /// For each page of the range the number of its slot, plus 1.
    owners: AtomicUsize,
    next_page: AtomicUsize,
    next_slot: AtomicUsize,
    queues: [SlotQueue; CLASSES],
    limits: Limits,
    live: AtomicU64,
    live_pages: AtomicU64,
    begun: AtomicU64,
    /// Ticks that guarding by turns took.
    pub spent: AtomicU64,
    /// Blocks that were guarded.
    pub guarded: AtomicU64,
    /// Blocks that should have been, by [`Refusal`].
    pub refused: [AtomicU64; 4],
}

impl Default for GuardPages {
    fn default() -> Self {
        Self::new()
    }
}

impl GuardPages {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            slots: AtomicUsize::new(0),
            owners: AtomicUsize::new(0),
            next_page: AtomicUsize::new(0),
            next_slot: AtomicUsize::new(0),
            queues: [const { SlotQueue::new() }; CLASSES],
            limits: Limits::new(),
            live: AtomicU64::new(0),
            live_pages: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            guarded: AtomicU64::new(0),
            refused: [const { AtomicU64::new(0) }; 4],
        }
    }

    /// Maps the range; whether there is one. Called once, before the first block.
    pub fn open(&self) -> bool {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let range = unsafe { sys::map(0, LENGTH, libc::PROT_NONE, flags, None) };
        let tables = (sys::private_pages(SLOTS * size_of::<GuardSlot>()), sys::private_pages(PAGES * 4));
        let (Ok(start), (Some(slots), Some(owners))) = (range, tables) else { return false };
        self.limits.read();
        self.slots.store(slots, Relaxed);
        self.owners.store(owners, Relaxed);
        self.next_page.store(1, Relaxed); // after the first guard
        self.begun.store(ticks(), Relaxed);
        // Release: whoever sees the range sees its tables.
        self.start.store(start, Release);
        true
    }

    /// The range: its start and its length. Length 0: there is none.
    pub fn range(&self) -> (usize, usize) {
        let start = self.start.load(Acquire);
        (start, if start == 0 { 0 } else { LENGTH })
    }

    /// Whether another block may be guarded by turns: what they take is a small part of the time since the start.
    pub fn may_take_time(&self) -> bool {
        const FIRST: u64 = 64;
        const PART: u64 = 128;
        let elapsed = ticks().saturating_sub(self.begun.load(Relaxed));
        self.guarded.load(Relaxed) < FIRST || self.spent.load(Relaxed).saturating_mul(PART) < elapsed
    }

    /// Whether an address is in the range.
    #[inline(always)]
    pub fn contains(&self, address: usize) -> bool {
        let start = self.start.load(Relaxed);
        start != 0 && address.wrapping_sub(start) < LENGTH
    }

    /// In a forked child: the blocks are there as they were, and what allocated them is its parent's.
    pub fn on_fork(&self) {
        for slot in self.used_slots() {
            slot.allocated.store(0, Relaxed);
            slot.freed.store(0, Relaxed);
        }
        self.queues.iter().for_each(SlotQueue::clear);
        self.guarded.store(0, Relaxed);
        self.refused.iter().for_each(|refused| refused.store(0, Relaxed));
    }

    /// A block with a guard; zeros, as new pages are. `alignment` is a power of two.
    pub fn allocate(&self, size: usize, alignment: usize, side: GuardSide) -> Option<&GuardSlot> {
        match self.try_allocate(size, alignment, side) {
            Ok(slot) => {
                self.guarded.fetch_add(1, Relaxed);
                Some(slot)
            }
            Err(refusal) => {
                self.refused[refusal as usize].fetch_add(1, Relaxed);
                None
            }
        }
    }

    fn try_allocate(&self, size: usize, alignment: usize, side: GuardSide) -> Result<&GuardSlot, Refusal> {
        let pages = size.max(1).div_ceil(PAGE);
        if alignment > PAGE || pages > self.limits.pages() / 4 {
            return Err(Refusal::Shape);
        }
        self.charge(pages)?;
        let slot = self.take(pages).inspect_err(|_| self.discharge(pages))?;
        let first = self.address_of(slot);
        if sys::protect(first, pages * PAGE, libc::PROT_READ | libc::PROT_WRITE).is_err() {
            self.give_back(slot);
            self.discharge(pages);
            return Err(Refusal::Space);
        }
        let start = match side {
            GuardSide::End => (first + pages * PAGE - size.max(1)) & !(alignment - 1),
            GuardSide::Begin => first,
        };
        slot.start.store(start, Relaxed);
        slot.size.store(size, Relaxed);
        self.place_canaries(slot);
        slot.state.store(SlotState::Live as u32, Release);
        Ok(slot)
    }

    /// Counts a block that is to come against the limits.
    fn charge(&self, pages: usize) -> Result<(), Refusal> {
        let live = self.live.fetch_add(1, Relaxed) + 1;
        let all = self.live_pages.fetch_add(pages as u64, Relaxed) + pages as u64;
        let refusal = match () {
            () if live > self.limits.blocks() as u64 => Refusal::Maps,
            () if all > self.limits.pages() as u64 => Refusal::Memory,
            () => return Ok(()),
        };
        self.discharge(pages);
        Err(refusal)
    }

    fn discharge(&self, pages: usize) {
        self.live.fetch_sub(1, Relaxed);
        self.live_pages.fetch_sub(pages as u64, Relaxed);
    }

    fn take(&self, pages: usize) -> Result<&GuardSlot, Refusal> {
        let page = self.next_page.load(Relaxed);
        if page + pages < PAGES
            && let Some(slot) = self.take_new(pages)
        {
            return Ok(slot);
        }
        self.take_used(pages).ok_or(Refusal::Space)
    }

    /// The slot that was freed first, and that the program cannot touch since.
    fn take_used(&self, pages: usize) -> Option<&GuardSlot> {
        let queue = self.queues.get(pages - 1)?;
        for _ in 0..CLASSES {
            let slot = queue.take(|number| self.slot(number))?;
            if slot.is_open.load(Relaxed) == 0 {
                slot.allocated.store(0, Relaxed);
                slot.freed.store(0, Relaxed);
                return Some(slot);
            }
        }
        None
    }

    fn take_new(&self, pages: usize) -> Option<&GuardSlot> {
        let page = self.next_page.fetch_add(pages + 1, Relaxed);
        if page + pages >= PAGES {
            return None;
        }
        let number = self.next_slot.fetch_add(1, Relaxed);
        let slot = self.slot(u32::try_from(number).ok()?);
        slot.page.store(page as u32, Relaxed);
        slot.pages.store(pages as u32, Relaxed);
        for page in page..page + pages + 1 {
            self.owner(page).store(number as u32 + 1, Relaxed);
        }
        Some(slot)
    }

    /// A slot is free again: its turn comes when all others have had theirs.
    fn give_back(&self, slot: &GuardSlot) {
        if let Some(queue) = self.queues.get(slot.pages.load(Relaxed) as usize - 1)
            && slot.is_open.load(Relaxed) == 0
        {
            queue.put(slot, self.number_of(slot), |number| self.slot(number));
        }
    }

    /// The slot of a block that begins here.
    pub fn at(&self, address: usize) -> Option<Guarded<'_>> {
        let (found, page) = (self.owned(address)?, self.page_of(address));
        (found.start == address && page < self.guard_of(found.slot)).then_some(found)
    }

    /// Ends a block: its pages are taken away. Whether it was live.
    pub fn free(&self, slot: &GuardSlot, freed: u32) -> bool {
        let (live, gone) = (SlotState::Live as u32, SlotState::Freed as u32);
        slot.freed.store(freed, Relaxed);
        // AcqRel would pair with nothing: who faults on the pages that go away is no longer entitled to them.
        if slot.state.compare_exchange(live, gone, Relaxed, Relaxed).is_err() {
            return false;
        }
        let pages = slot.pages.load(Relaxed) as usize;
        self.discharge(pages);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // A new mapping, not another protection: it is joined with its neighbours, so that freed blocks need no mapping of their own.
        // SAFETY: the pages of a slot are ours, and its block has ended.
        let is_gone =
            unsafe { sys::map(self.address_of(slot), pages * PAGE, libc::PROT_NONE, flags, None) }.is_ok();
        if is_gone {
            self.give_back(slot);
        }
        true
    }

    /// The first byte around a live block that was changed, though it lies on its pages.
    pub fn damage(&self, slot: &GuardSlot) -> Option<usize> {
        self.canaries_of(slot).into_iter().find_map(|(from, end)| {
            // SAFETY: on pages of a live block, which its owner keeps while it is checked.
            unsafe { canary::first_change(from, end) }
        })
    }

    fn place_canaries(&self, slot: &GuardSlot) {
        for (from, end) in self.canaries_of(slot) {
            // SAFETY: on pages that nobody has yet.
            unsafe { canary::write(from, end) };
        }
    }

    /// Before and after the block: ranges that end at multiples of 8. A canary before it ends where the block's first word begins.
    fn canaries_of(&self, slot: &GuardSlot) -> [(usize, usize); 2] {
        let (start, size) = (slot.start.load(Relaxed), slot.size.load(Relaxed));
        let first = self.address_of(slot);
        let end = start + size;
        let limit = first + slot.pages.load(Relaxed) as usize * PAGE;
        let before = start & !7;
        let after = if end >= limit { limit } else { limit.min((end & !7) + WATCHED) };
        [(before.saturating_sub(WATCHED).max(first), before), (end.min(after), after)]
    }

    /// What is known of an address in the range, which nobody may access: the block that is next to it.
    pub fn around(&self, address: usize) -> Option<Guarded<'_>> {
        let page = self.page_of(address);
        let own = self.owned(address);
        let Some(found) = own else { return self.owned(address + PAGE) };
        if page != self.guard_of(found.slot) {
            return Some(found);
        }
        // On the guard between two blocks: whichever is nearer.
        match self.owned(address - address % PAGE + PAGE) {
            Some(next) if next.start.abs_diff(address) < address.abs_diff(found.start + found.size) => {
                Some(next)
            }
            _ => Some(found),
        }
    }

    /// Lets the program access the page of an address, for good.
    pub fn let_pass(&self, address: usize) -> bool {
        if let Some(found) = self.owned(address) {
            found.slot.is_open.store(1, Relaxed);
        }
        let page = address & !(PAGE - 1);
        sys::protect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE).is_ok()
    }

    /// Live blocks: the slots that have one.
    pub fn each_live(&self) -> impl Iterator<Item = Guarded<'_>> {
        self.used_slots()
            .filter_map(|slot| self.describe(slot))
            .filter(|found| found.state == SlotState::Live)
    }

    fn used_slots(&self) -> impl Iterator<Item = &GuardSlot> {
        let count = if self.start.load(Acquire) == 0 { 0 } else { self.next_slot.load(Relaxed).min(SLOTS) };
        (0..count).map(|number| self.slot(number as u32))
    }

    fn owned(&self, address: usize) -> Option<Guarded<'_>> {
        if !self.contains(address) {
            return None;
        }
        let number = self.owner(self.page_of(address)).load(Relaxed).checked_sub(1)?;
        self.describe(self.slot(number))
    }

    fn describe<'a>(&self, slot: &'a GuardSlot) -> Option<Guarded<'a>> {
        // Acquire: pairs with the Release in `try_allocate`.
        let state = match slot.state.load(Acquire) {
            1 => SlotState::Live,
            2 => SlotState::Freed,
            _ => return None,
        };
        Some(Guarded { slot, start: slot.start.load(Relaxed), size: slot.size.load(Relaxed), state })
    }

    fn slot(&self, number: u32) -> &GuardSlot {
        let table = self.slots.load(Relaxed) as *const GuardSlot;
        // SAFETY: the table has SLOTS entries, zeroed pages that are never unmapped; numbers come from `take_new`, which counts slots of
        // two pages at least.
        unsafe { &*table.add(number as usize % SLOTS) }
    }

    fn number_of(&self, slot: &GuardSlot) -> u32 {
        ((&raw const *slot as usize - self.slots.load(Relaxed)) / size_of::<GuardSlot>()) as u32
    }

    fn owner(&self, page: usize) -> &AtomicU32 {
        let table = self.owners.load(Relaxed) as *const AtomicU32;
        // SAFETY: the table has PAGES entries.
        unsafe { &*table.add(page % PAGES) }
    }

    fn page_of(&self, address: usize) -> usize {
        (address - self.start.load(Relaxed)) / PAGE
    }

    /// The page of the guard after a slot's block.
    fn guard_of(&self, slot: &GuardSlot) -> usize {
        slot.page.load(Relaxed) as usize + slot.pages.load(Relaxed) as usize
    }

    fn address_of(&self, slot: &GuardSlot) -> usize {
        self.start.load(Relaxed) + slot.page.load(Relaxed) as usize * PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::collections::HashSet;
    use std::vec::Vec;

    fn open() -> Box<GuardPages> {
        let pages = Box::new(GuardPages::new());
        assert!(pages.open());
        pages
    }

    fn byte(address: usize) -> Option<u8> {
        let mut byte = [0];
        sys::note_own_pid();
        (sys::read_bytes(address as u64, &mut byte) == 1).then_some(byte[0])
    }

    fn poke(address: usize, value: u8) {
        // SAFETY: callers name bytes of their own blocks.
        unsafe { (address as *mut u8).write_volatile(value) };
    }

    #[test]
    fn a_block_ends_at_a_page_that_nobody_may_touch() {
        let pages = open();
        for size in [1, 16, 4095, 4096, 4097, 100_000] {
            let slot = pages.allocate(size, 1, GuardSide::End).unwrap();
            let start = slot.start();
            assert_eq!((start + size) % PAGE, 0);
            assert_eq!((byte(start), byte(start + size - 1), byte(start + size)), (Some(0), Some(0), None));
            let at = pages.at(start).unwrap();
            assert_eq!((at.size, at.state), (size, SlotState::Live));
            assert!(pages.at(start + 1).is_none());
        }
    }

    #[test]
    fn a_block_at_the_begin_follows_a_page_that_nobody_may_touch() {
        let pages = open();
        let slot = pages.allocate(100, 16, GuardSide::Begin).unwrap();
        assert_eq!((byte(slot.start() - 1), byte(slot.start())), (None, Some(0)));
        assert_eq!(pages.around(slot.start() - 1).unwrap().start, slot.start());
    }

    #[test]
    fn alignment_is_kept_and_what_it_leaves_open_is_watched() {
        let pages = open();
        let slot = pages.allocate(100, 16, GuardSide::End).unwrap();
        let end = slot.start() + 100;
        assert_eq!((slot.start() % 16, end.next_multiple_of(16) % PAGE), (0, 0));
        assert_eq!(pages.damage(slot), None);
        poke(slot.start() + 99, 1);
        assert_eq!(pages.damage(slot), None);
        poke(end + 3, 1);
        assert_eq!(pages.damage(slot), Some(end + 3));
        poke(slot.start() - 1, 1);
        assert_eq!(pages.damage(slot), Some(slot.start() - 1));
    }

    #[test]
    fn a_freed_block_cannot_be_touched_and_is_not_freed_twice() {
        let pages = open();
        let slot = pages.allocate(100, 16, GuardSide::End).unwrap();
        let start = slot.start();
        assert!(pages.free(slot, 5));
        assert_eq!(byte(start), None);
        let around = pages.around(start + 10).unwrap();
        assert_eq!(
            (around.start, around.state, around.slot.freed.load(Relaxed)),
            (start, SlotState::Freed, 5)
        );
        assert!(!pages.free(slot, 6));
        assert!(pages.let_pass(start));
        assert_eq!(byte(start), Some(0));
    }

    #[test]
    fn the_nearer_of_two_blocks_is_named_on_the_page_between_them() {
        let pages = open();
        let [first, second] = [(); 2].map(|()| pages.allocate(4096, 16, GuardSide::End).unwrap().start());
        assert_eq!(second, first + 2 * PAGE);
        assert_eq!(pages.around(first + 4096).unwrap().start, first);
        assert_eq!(pages.around(second - 1).unwrap().start, second);
        assert!(pages.around(first + (1 << 30)).is_none());
    }

    #[test]
    fn freed_blocks_need_no_mapping_of_their_own() {
        let pages = open();
        let range = pages.range().0..pages.range().0 + LENGTH;
        let begins_there = |line: &&str| {
            let start = line.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok());
            start.is_some_and(|start| range.contains(&start))
        };
        let count =
            || std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(begins_there).count();
        let slots: Vec<_> = (0..500).map(|_| pages.allocate(64, 16, GuardSide::End).unwrap()).collect();
        slots.iter().for_each(|slot| poke(slot.start(), 1));
        assert!((1000..=1001).contains(&count()), "{}", count());
        slots.iter().for_each(|slot| assert!(pages.free(slot, 0)));
        assert_eq!(count(), 1);
    }

    #[test]
    fn beyond_the_limits_a_block_is_ordinary_and_counted() {
        let pages = open();
        pages.limits.set(10, 100);
        let slots: Vec<_> = (0..12).filter_map(|_| pages.allocate(64, 16, GuardSide::End)).collect();
        assert_eq!((slots.len(), pages.refused[Refusal::Maps as usize].load(Relaxed)), (10, 2));
        pages.free(slots[0], 0);
        assert!(pages.allocate(64, 16, GuardSide::End).is_some());
        pages.limits.set(1000, 12);
        assert!(pages.allocate(3 * PAGE, 16, GuardSide::End).is_none());
        assert!(pages.allocate(4 * PAGE, 16, GuardSide::End).is_none());
        assert!(pages.allocate(16, 2 * PAGE, GuardSide::End).is_none());
        let refused =
            [Refusal::Memory, Refusal::Shape].map(|refusal| pages.refused[refusal as usize].load(Relaxed));
        assert_eq!((pages.guarded.load(Relaxed), refused), (11, [1, 2]));
    }

    #[test]
    fn when_no_addresses_are_left_those_come_again_that_were_freed_first() {
        let pages = open();
        let slots: Vec<_> = (0..3).map(|_| pages.allocate(64, 16, GuardSide::End).unwrap()).collect();
        pages.next_page.store(PAGES, Relaxed);
        assert!(pages.allocate(64, 16, GuardSide::End).is_none());
        let starts = [slots[1].start(), slots[0].start()];
        pages.free(slots[1], 0);
        pages.free(slots[0], 0);
        let again = [(); 2].map(|()| pages.allocate(64, 16, GuardSide::End).unwrap().start());
        assert_eq!(again, starts);
        assert!(pages.allocate(64, 16, GuardSide::End).is_none());
    }

    #[test]
    fn threads_never_get_the_same_pages() {
        let pages = open();
        pages.next_page.store(PAGES - 200, Relaxed);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    let pages = &pages;
                    scope.spawn(move || {
                        for _ in 0..2000 {
                            let mine: Vec<_> =
                                (0..8).filter_map(|_| pages.allocate(64, 16, GuardSide::End)).collect();
                            let distinct: HashSet<_> = mine.iter().map(|slot| slot.start()).collect();
                            assert_eq!(distinct.len(), mine.len());
                            mine.iter().for_each(|slot| poke(slot.start(), worker));
                            for slot in mine {
                                assert_eq!(byte(slot.start()), Some(worker));
                                assert!(pages.free(slot, 0));
                            }
                        }
                    })
                })
                .collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}
