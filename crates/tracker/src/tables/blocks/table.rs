//! The block table's words: a block is inserted, removed and found by its address. What is on the path of an allocation and of a free.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use heaplens_format::arena::PAGE;
use heaplens_format::arena::block::{
    ADDRESS_BITS, CELL_WORDS, DIRECTORY_BITS, DIRECTORY_ENTRIES, GRANULE_BITS, LEAF_WORDS, Shape,
    split_address,
};
use heaplens_format::arena::{BlockEntry, Family};
use heaplens_format::atomic::AtomicU64;
use heaplens_format::{Addr, Bytes, SiteId};

use crate::tables::arena::Arena;
use crate::tables::filter::Filter;

/// How often a compare-and-swap is tried before the block is given up as lost.
const ATTEMPTS: usize = 64;
/// Bytes of a granule.
const GRANULE: u64 = 1 << GRANULE_BITS;
/// Of an address, those in a word.
const WORD_BITS: u32 = 3;
const CELLS_PER_PAGE: usize = PAGE / (CELL_WORDS * 8);

/// A block as the table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Who allocated it.
    pub site: SiteId,
    /// Its size.
    pub size: Bytes,
    /// By which function.
    pub family: Family,
}

impl Block {
    /// What the word of an ordinary block says.
    #[inline(always)]
    pub fn of(entry: BlockEntry) -> Self {
        Self { site: entry.site(), size: entry.size(), family: entry.family() }
    }
}

/// The table could not take the block: the arena is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The block table of an arena.
#[derive(Debug)]
pub struct Blocks {
    /// Whether a granule can hold two blocks: any allocator but glibc's.
    pub(super) shared_granules: AtomicBool,
    /// Whether few blocks are in the table and most frees are of others.
    pub(super) sampled: AtomicBool,
    /// Of the blocks in the table, when sampled.
    filter: Filter,
    /// The cell page that is being filled, and how much of it is: `page << 32 | next`.
    cells: AtomicU64,
}

impl Default for Blocks {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocks {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            shared_granules: AtomicBool::new(false),
            sampled: AtomicBool::new(false),
            filter: Filter::new(),
            cells: AtomicU64::new(0),
        }
    }

    /// Forgets everything: the arena was replaced.
    pub fn reset(&self, shared_granules: bool, sampled: bool) {
        self.shared_granules.store(shared_granules, Relaxed);
        self.sampled.store(sampled, Relaxed);
        if sampled {
            self.filter.clear();
        }
        self.cells.store(0, Relaxed);
    }

    /// Records a block. The answer is the block that stood at the address before, whose end was not seen.
    #[inline]
    pub fn insert(&self, arena: &Arena, addr: Addr, block: Block) -> Result<Option<Block>, Full> {
        let (top, directory, index, offset) = split_address(addr.get());
        let word = Self::word_or_new(arena, top, directory, index).ok_or(Full)?;
        if self.sampled.load(Relaxed) {
            self.filter.add(addr);
        }
        if let Some(entry) = BlockEntry::pack(block.site, block.size, block.family, offset)
            && !self.shared_granules.load(Relaxed)
            && BlockEntry::from_raw(word.load(Relaxed)).is_vacant()
        {
            word.store(entry.raw(), Relaxed);
            return Ok(None);
        }
        self.insert_slow(arena, word, offset, block)
    }

    /// Records a block that may share its granule with others, whatever allocator the process has.
    pub fn insert_packed(&self, arena: &Arena, addr: Addr, block: Block) -> Result<Option<Block>, Full> {
        let (top, directory, index, offset) = split_address(addr.get());
        let word = Self::word_or_new(arena, top, directory, index).ok_or(Full)?;
        self.insert_slow(arena, word, offset, block)
    }

    /// Removes such a block.
    pub fn remove_packed(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        let (top, directory, index, offset) = split_address(addr.get());
        Self::remove_slow(arena, Self::word(arena, top, directory, index)?, offset)
    }

    #[cold]
    fn insert_slow(
        &self,
        arena: &Arena,
        word: &AtomicU64,
        offset: u64,
        block: Block,
    ) -> Result<Option<Block>, Full> {
        let entry = self.entry_for(arena, block, offset)?;
        for _ in 0..ATTEMPTS {
            let old = BlockEntry::from_raw(word.load(Acquire));
            let new = match old.shape() {
                Shape::Empty | Shape::Freed => entry,
                Shape::Block if old.is_block_at(offset) => entry,
                Shape::Block => self.split(arena, old)?,
                Shape::Huge(_) => entry,
                Shape::Fine(cell) => return Ok(Self::swap_fine(arena, cell, offset, entry)),
            };
            // AcqRel: publishes the cell that `split` filled, and pairs with the Acquire load above.
            if word.compare_exchange(old.raw(), new.raw(), AcqRel, Acquire).is_ok() && new == entry {
                return Ok(Self::describe(arena, old));
            }
        }
        Err(Full)
    }

    fn entry_for(&self, arena: &Arena, block: Block, offset: u64) -> Result<BlockEntry, Full> {
        if let Some(entry) = BlockEntry::pack(block.site, block.size, block.family, offset) {
            return Ok(entry);
        }
        let cell = self.take_cell(arena)?;
        let small = BlockEntry::pack(block.site, Bytes::ZERO, block.family, offset).ok_or(Full)?;
        Self::cell_word(arena, cell, 0).store(small.raw(), Relaxed);
        Self::cell_word(arena, cell, 1).store(block.size.get(), Relaxed);
        Ok(BlockEntry::huge(cell))
    }

    /// A fine cell that holds what the word held.
    fn split(&self, arena: &Arena, old: BlockEntry) -> Result<BlockEntry, Full> {
        let cell = self.take_cell(arena)?;
        Self::cell_word(arena, cell, old.offset() as usize).store(old.raw(), Relaxed);
        Ok(BlockEntry::fine(cell))
    }

    fn swap_fine(arena: &Arena, cell: u32, offset: u64, entry: BlockEntry) -> Option<Block> {
        let old = Self::cell_word(arena, cell, offset as usize).swap(entry.raw(), AcqRel);
        Self::describe(arena, BlockEntry::from_raw(old))
    }

    /// Removes the block that begins at an address. Where a granule has one block, what it was stays until there is another.
    #[inline]
    pub fn remove(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        if self.sampled.load(Relaxed) {
            self.remove_sampled(arena, addr)
        } else {
            self.remove_recorded(arena, addr)
        }
    }

    /// In a sampled run: whether the block at an address was surely not recorded.
    #[inline(always)]
    pub fn surely_lacks(&self, addr: Addr) -> bool {
        !self.filter.may_hold(addr)
    }

    #[inline]
    fn remove_sampled(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        if self.surely_lacks(addr) {
            return None;
        }
        let block = self.remove_recorded(arena, addr)?;
        self.filter.remove(addr);
        Some(block)
    }

    fn remove_recorded(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        let (top, directory, index, offset) = split_address(addr.get());
        let word = Self::word(arena, top, directory, index)?;
        let entry = BlockEntry::from_raw(word.load(Relaxed));
        match self.mark_freed(word, entry, offset) {
            Some(entry) => Some(Block::of(entry)),
            None if entry.is_vacant() => None,
            None => Self::remove_slow(arena, word, offset),
        }
    }

    /// The same for the ordinary case, in which nothing but a word changes: a block that is alone in its granule. `None`: it may be
    /// there all the same.
    #[inline(always)]
    pub fn remove_plain(&self, arena: &Arena, addr: Addr) -> Option<BlockEntry> {
        if self.sampled.load(Relaxed) || self.shared_granules.load(Relaxed) {
            return None;
        }
        let (top, directory, index, _) = split_address(addr.get());
        let word = Self::word(arena, top, directory, index)?;
        // The offset in words, with what is left of the address above it: in the middle of a word no block begins.
        let offset = (addr.get() & (GRANULE - 1)).rotate_right(WORD_BITS);
        self.mark_freed(word, BlockEntry::from_raw(word.load(Relaxed)), offset)
    }

    /// What the word was, where it was that of a block that is alone in its granule.
    #[inline(always)]
    fn mark_freed(&self, word: &AtomicU64, entry: BlockEntry, offset: u64) -> Option<BlockEntry> {
        if self.shared_granules.load(Relaxed) || !entry.is_block_at(offset) {
            return None;
        }
        word.store(entry.freed().raw(), Relaxed);
        Some(entry)
    }

    #[cold]
    fn remove_slow(arena: &Arena, word: &AtomicU64, offset: u64) -> Option<Block> {
        for _ in 0..ATTEMPTS {
            let old = BlockEntry::from_raw(word.load(Acquire));
            match old.shape() {
                Shape::Empty | Shape::Freed => return None,
                Shape::Fine(cell) => return Self::swap_fine(arena, cell, offset, BlockEntry::EMPTY),
                Shape::Block if !old.is_block_at(offset) => return None,
                Shape::Huge(cell) if Self::huge_offset(arena, cell) != offset => return None,
                Shape::Block | Shape::Huge(_) => {
                    let block = Self::describe(arena, old);
                    // A neighbour may turn the word into a fine cell between the load and here: try again then.
                    if word.compare_exchange(old.raw(), 0, AcqRel, Acquire).is_ok() {
                        return block;
                    }
                }
            }
        }
        None
    }

    /// Marks the block at an address as one that is kept on purpose; whether there is one. (Of 4 GiB or more the mark is not kept.)
    #[cold]
    pub fn ignore(&self, arena: &Arena, addr: Addr) -> bool {
        let (top, directory, index, offset) = split_address(addr.get());
        let Some(word) = Self::word(arena, top, directory, index) else { return false };
        let entry = BlockEntry::from_raw(word.load(Acquire));
        match entry.shape() {
            Shape::Block if entry.is_block_at(offset) => {
                let marked = word.compare_exchange(entry.raw(), entry.ignored().raw(), AcqRel, Acquire);
                marked.is_ok()
            }
            Shape::Fine(cell) => {
                let fine = Self::cell_word(arena, cell, offset as usize);
                let entry = BlockEntry::from_raw(fine.load(Acquire));
                let marked = entry.ignored().raw();
                entry.shape() == Shape::Block
                    && fine.compare_exchange(entry.raw(), marked, AcqRel, Acquire).is_ok()
            }
            _ => false,
        }
    }

    /// The block at an address, without removing it.
    pub fn find(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        let (top, directory, index, offset) = split_address(addr.get());
        let entry = BlockEntry::from_raw(Self::word(arena, top, directory, index)?.load(Acquire));
        match entry.shape() {
            Shape::Block if entry.is_block_at(offset) => Self::describe(arena, entry),
            Shape::Huge(cell) if Self::huge_offset(arena, cell) == offset => Self::describe(arena, entry),
            Shape::Fine(cell) => {
                let fine = Self::cell_word(arena, cell, offset as usize).load(Acquire);
                Self::describe(arena, BlockEntry::from_raw(fine))
            }
            _ => None,
        }
    }

    pub(super) fn huge_offset(arena: &Arena, cell: u32) -> u64 {
        BlockEntry::from_raw(Self::cell_word(arena, cell, 0).load(Relaxed)).offset()
    }

    pub(super) fn describe(arena: &Arena, entry: BlockEntry) -> Option<Block> {
        match entry.shape() {
            Shape::Block => Some(Block::of(entry)),
            Shape::Huge(cell) => {
                let small = BlockEntry::from_raw(Self::cell_word(arena, cell, 0).load(Relaxed));
                let size = Bytes::new(Self::cell_word(arena, cell, 1).load(Relaxed));
                Some(Block { site: small.site(), size, family: small.family() })
            }
            Shape::Empty | Shape::Fine(_) | Shape::Freed => None,
        }
    }

    #[inline(always)]
    pub(super) fn word(arena: &Arena, top: usize, directory: usize, index: usize) -> Option<&AtomicU64> {
        if top >> (ADDRESS_BITS - DIRECTORY_BITS) != 0 {
            return None; // five-level paging: an address that the table does not cover
        }
        // Acquire: pairs with the Release that published the directory or the leaf.
        let table = arena.top(top).load(Acquire);
        if table == 0 {
            return None;
        }
        // SAFETY: a non-zero entry of TOP is a directory that `new_directory` took, DIRECTORY_ENTRIES long.
        let leaf = unsafe { arena.page_u32(table, directory) }.load(Acquire);
        if leaf == 0 {
            return None;
        }
        // SAFETY: a non-zero entry of a directory is a leaf page that `word_or_new` took; `index` < LEAF_WORDS.
        Some(unsafe { arena.page_u64(leaf, index) })
    }

    #[inline(always)]
    fn word_or_new(arena: &Arena, top: usize, directory: usize, index: usize) -> Option<&AtomicU64> {
        match Self::word(arena, top, directory, index) {
            Some(word) => Some(word),
            None => Self::new_word(arena, top, directory, index),
        }
    }

    #[cold]
    fn new_word(arena: &Arena, top: usize, directory: usize, index: usize) -> Option<&AtomicU64> {
        const DIRECTORY_PAGES: u64 = (DIRECTORY_ENTRIES * 4 / PAGE) as u64;
        const LEAF_PAGES: u64 = (LEAF_WORDS * 8 / PAGE) as u64;
        if top >> (ADDRESS_BITS - DIRECTORY_BITS) != 0 {
            return None;
        }
        let entry = arena.top(top);
        if entry.load(Acquire) == 0 {
            let pages = arena.take_pages(DIRECTORY_PAGES)?;
            // AcqRel: publishes the zeroed directory. A loser's pages are wasted, which happens once per GiB at most.
            let _ = entry.compare_exchange(0, pages, AcqRel, Acquire);
        }
        // SAFETY: the entry is non-zero now, hence a directory.
        let entry = unsafe { arena.page_u32(entry.load(Acquire), directory) };
        if entry.load(Acquire) == 0 {
            let page = arena.take_pages(LEAF_PAGES)?;
            // AcqRel: publishes the zeroed leaf.
            let _ = entry.compare_exchange(0, page, AcqRel, Acquire);
        }
        Self::word(arena, top, directory, index)
    }

    /// Takes a zeroed cell. Cells are numbered over the page area: `page * CELLS_PER_PAGE + position`.
    fn take_cell(&self, arena: &Arena) -> Result<u32, Full> {
        for _ in 0..ATTEMPTS {
            let state = self.cells.load(Relaxed);
            let (page, next) = ((state >> 32) as u32, state as u32 as usize);
            if page != 0 && next < CELLS_PER_PAGE {
                if self.cells.compare_exchange(state, state + 1, Relaxed, Relaxed).is_ok() {
                    return u32::try_from(page as usize * CELLS_PER_PAGE + next).map_err(|_| Full);
                }
                continue;
            }
            let fresh = u64::from(arena.take_pages(1).ok_or(Full)?) << 32;
            let _ = self.cells.compare_exchange(state, fresh, Relaxed, Relaxed);
        }
        Err(Full)
    }

    fn cell_word(arena: &Arena, cell: u32, index: usize) -> &AtomicU64 {
        let (page, position) = (cell as usize / CELLS_PER_PAGE, cell as usize % CELLS_PER_PAGE);
        // SAFETY: `take_cell` numbers only cells in pages that it took.
        unsafe { arena.page_u64(page as u32, position * CELL_WORDS + (index & (CELL_WORDS - 1))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::vec::Vec;

    pub(super) fn block(site: u32, size: u64) -> Block {
        Block { site: SiteId::new(site), size: Bytes::new(size), family: Family::New }
    }

    #[test]
    fn free_of_an_unknown_block_finds_nothing() {
        let (arena, blocks) = (scratch(), Blocks::new());
        assert_eq!(blocks.remove(&arena, Addr::new(0x7fff_0000_1230)), None);
        assert_eq!(blocks.remove(&arena, Addr::new(u64::MAX - 7)), None);
        blocks.insert(&arena, Addr::new(0x5000_1010), block(3, 24)).unwrap();
        assert_eq!(blocks.remove(&arena, Addr::new(0x5000_1000)), None);
        assert_eq!(blocks.remove(&arena, Addr::new(0x5000_1010)), Some(block(3, 24)));
        assert_eq!(blocks.remove(&arena, Addr::new(0x5000_1010)), None);
    }

    #[test]
    fn in_the_middle_of_a_word_no_block_is_removed() {
        let (arena, blocks) = (scratch(), Blocks::new());
        blocks.insert(&arena, Addr::new(0x5000_1018), block(3, 24)).unwrap();
        for within in 1..8 {
            assert_eq!(blocks.remove_plain(&arena, Addr::new(0x5000_1018 + within)), None);
        }
        let removed = blocks.remove_plain(&arena, Addr::new(0x5000_1018)).map(Block::of);
        assert_eq!(removed, Some(block(3, 24)));
    }

    #[test]
    fn in_a_sampled_run_every_recorded_block_is_found_and_most_others_cost_no_look() {
        let (arena, blocks) = (scratch(), Blocks::new());
        blocks.reset(false, true);
        let addr = |number: u64| Addr::new(0x6000_0000_0000 + number * 32);
        for number in (0..100_000).step_by(50) {
            assert_eq!(blocks.insert(&arena, addr(number), block(1, number)), Ok(None));
        }
        let silent = (0..100_000).filter(|&number| !blocks.filter.may_hold(addr(number))).count();
        assert!(silent > 90_000, "{silent}");
        for number in 0..100_000 {
            let expected = (number % 50 == 0).then(|| block(1, number));
            assert_eq!(blocks.remove(&arena, addr(number)), expected);
        }
        assert!((0..100_000).all(|number| !blocks.filter.may_hold(addr(number))));
    }

    #[test]
    fn a_block_of_five_gibibytes_keeps_its_size() {
        let (arena, blocks) = (scratch(), Blocks::new());
        let addr = Addr::new(0x7f00_0000_0010);
        blocks.insert(&arena, addr, block(9, 5 << 30)).unwrap();
        assert_eq!(blocks.find(&arena, addr), Some(block(9, 5 << 30)));
        assert_eq!(blocks.remove(&arena, addr), Some(block(9, 5 << 30)));
    }

    proptest! {
        /// The naive model is a map; addresses crowd into few granules so that cells split all the time.
        #[test]
        fn the_table_equals_a_map(events in prop::collection::vec((0u64..64, any::<bool>(), 0u64..200, 1u32..50), 1..400)) {
            let (arena, blocks) = (scratch(), Blocks::new());
            blocks.reset(true, false);
            let mut model = HashMap::new();
            for (slot, is_insert, size, site) in events {
                let addr = Addr::new(0x6000_0000_0000 + slot * 8);
                if is_insert {
                    let new = block(site, if size == 199 { 1 << 33 } else { size });
                    if size == 199 && model.keys().any(|&other: &u64| other != slot && other / 4 == slot / 4) {
                        continue; // no allocator puts a block of 8 GiB beside another in one granule
                    }
                    if model.iter().any(|(&other, old): (&u64, &Block)| other / 4 == slot / 4 && old.size.get() >> 32 != 0) {
                        continue;
                    }
                    prop_assert_eq!(blocks.insert(&arena, addr, new).unwrap(), model.insert(slot, new));
                } else {
                    prop_assert_eq!(blocks.remove(&arena, addr), model.remove(&slot));
                }
            }
            for slot in 0..64 {
                prop_assert_eq!(blocks.find(&arena, Addr::new(0x6000_0000_0000 + slot * 8)), model.get(&slot).copied());
            }
        }
    }

    #[test]
    fn threads_sharing_granules_lose_nothing() {
        let (arena, blocks) = (scratch(), Blocks::new());
        blocks.reset(true, false);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4u64)
                .map(|lane| {
                    let (arena, blocks) = (&arena, &blocks);
                    scope.spawn(move || {
                        for round in 0..20_000u64 {
                            let addr = Addr::new(0x6100_0000_0000 + (round % 97) * 32 + lane * 8);
                            let new = block(lane as u32 + 1, round);
                            assert_eq!(blocks.insert(arena, addr, new), Ok(None));
                            assert_eq!(blocks.remove(arena, addr), Some(new));
                        }
                    })
                })
                .collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}
