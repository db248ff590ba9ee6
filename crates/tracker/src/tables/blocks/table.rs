//! The block table: which site made the block at this address, how large it is, which family it belongs to.
//!
//! A shadow of the address space (layout: [`heaplens_format::arena::block`]); two directory levels, then one word per
//! granule. A block is inserted by the thread that got it and removed by the thread that frees it, so nobody else writes
//! the same word; only when an allocator packs two blocks into one granule can two threads meet, and then every change
//! of the word is a compare-and-swap.
//!
//! Under glibc's allocator the word of a block that is freed keeps what it was, so that a second free is known for what it is. It is
//! a vacant word for everything else.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use heaplens_format::arena::PAGE;
use heaplens_format::arena::block::{
    ADDRESS_BITS, CELL_WORDS, DIRECTORY_BITS, DIRECTORY_ENTRIES, GRANULE_BITS, LEAF_BITS, LEAF_WORDS, Shape,
    TOP_ENTRIES, split_address,
};
use heaplens_format::arena::{BlockEntry, Family};
use heaplens_format::atomic::AtomicU64;
use heaplens_format::{Addr, Bytes, SiteId};

use super::arena::Arena;
use super::filter::Filter;

/// How often a compare-and-swap is tried before the block is given up as lost.
const ATTEMPTS: usize = 64;
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

/// What is around an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enclosing {
    /// A live block, which begins here.
    Block(Addr, Block),
    /// No live block that is in the table.
    Nothing,
    /// It takes too long to say.
    Unknown,
}

/// The table could not take the block: the arena is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The block table of an arena.
#[derive(Debug)]
pub struct Blocks {
    /// Whether a granule can hold two blocks: any allocator but glibc's.
    shared_granules: AtomicBool,
    /// Whether few blocks are in the table and most frees are of others.
    sampled: AtomicBool,
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
        let (top, directory, index, offset) = split_address(addr.get());
        let word = Self::word(arena, top, directory, index)?;
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

    fn huge_offset(arena: &Arena, cell: u32) -> u64 {
        BlockEntry::from_raw(Self::cell_word(arena, cell, 0).load(Relaxed)).offset()
    }

    fn describe(arena: &Arena, entry: BlockEntry) -> Option<Block> {
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

    /// Every live block, in the order of their addresses. Others may come and go meanwhile.
    #[cold]
    pub fn each(&self, arena: &Arena, mut action: impl FnMut(Addr, Block)) {
        for granule in Self::granules(arena) {
            let (top, directory, index, _) = split_address(granule);
            let Some(word) = Self::word(arena, top, directory, index) else { continue };
            if BlockEntry::from_raw(word.load(Relaxed)).is_vacant() {
                continue;
            }
            for addr in (granule..granule + (1 << GRANULE_BITS)).step_by(8).map(Addr::new) {
                if let Some(block) = self.find(arena, addr) {
                    action(addr, block);
                }
            }
        }
    }

    /// The granules of all leaves that exist.
    fn granules(arena: &Arena) -> impl Iterator<Item = u64> {
        let tops = (0..TOP_ENTRIES).filter(|&top| arena.top(top).load(Acquire) != 0);
        let leaves = tops.flat_map(|top| {
            let base = (top as u64) << DIRECTORY_BITS;
            (0..DIRECTORY_ENTRIES)
                .map(move |directory| (top, directory, base + ((directory as u64) << LEAF_BITS)))
        });
        leaves
            .filter(|&(top, directory, _)| Self::word(arena, top, directory, 0).is_some())
            .flat_map(|(_, _, start)| (start..start + (1 << LEAF_BITS)).step_by(1 << GRANULE_BITS))
    }

    /// The block that began at an address and was freed, where no other has taken its granule since.
    pub fn freed(&self, arena: &Arena, addr: Addr) -> Option<Block> {
        let (top, directory, index, offset) = split_address(addr.get());
        let entry = BlockEntry::from_raw(Self::word(arena, top, directory, index)?.load(Relaxed));
        entry.is_freed_at(offset).then_some(Block::of(entry))
    }

    /// A block that is not recorded begins here: whatever was freed at this address says nothing of it.
    pub fn forget_freed(&self, arena: &Arena, addr: Addr) {
        let (top, directory, index, _) = split_address(addr.get());
        let Some(word) = Self::word(arena, top, directory, index) else { return };
        let entry = BlockEntry::from_raw(word.load(Relaxed));
        if entry.shape() == Shape::Freed {
            // In vain where a block came to the granule in the meantime.
            let _ = word.compare_exchange(entry.raw(), 0, Relaxed, Relaxed);
        }
    }

    /// Whether a granule has one block at most, and a block that was freed is known.
    pub fn knows_freed(&self) -> bool {
        !self.shared_granules.load(Relaxed) && !self.sampled.load(Relaxed)
    }

    /// The live block that an address lies in, with its begin: it is the next one before the address, or there is none. `most` granules, and
    /// leaves and directories that do not exist, are searched.
    #[cold]
    pub fn around(&self, arena: &Arena, addr: Addr, most: usize) -> Enclosing {
        if addr.get() >> ADDRESS_BITS != 0 {
            return Enclosing::Nothing;
        }
        let mut granule = addr.get() >> GRANULE_BITS;
        for _ in 0..most {
            let start = granule << GRANULE_BITS;
            let (top, directory, index, _) = split_address(start);
            let step = match Self::word(arena, top, directory, index) {
                Some(word) => {
                    match Self::begins_before(arena, BlockEntry::from_raw(word.load(Acquire)), start, addr) {
                        Some((start, block)) if addr.get() - start.get() < block.size.get() => {
                            return Enclosing::Block(start, block);
                        }
                        Some(_) => return Enclosing::Nothing,
                        None => 1,
                    }
                }
                None => 1 + (granule & Self::missing(arena, top)),
            };
            let Some(before) = granule.checked_sub(step) else { return Enclosing::Nothing };
            granule = before;
        }
        Enclosing::Unknown
    }

    /// The granules of what does not exist, a leaf or a whole directory of them, as a mask.
    fn missing(arena: &Arena, top: usize) -> u64 {
        let bits = if arena.top(top).load(Relaxed) == 0 { DIRECTORY_BITS } else { LEAF_BITS };
        (1 << (bits - GRANULE_BITS)) - 1
    }

    /// The block of the heap that begins in a granule, at an address or before it.
    fn begins_before(arena: &Arena, entry: BlockEntry, granule: u64, addr: Addr) -> Option<(Addr, Block)> {
        let block = Self::describe(arena, entry).filter(|block| block.family.is_of_heap())?;
        let offset = match entry.shape() {
            Shape::Huge(cell) => Self::huge_offset(arena, cell),
            _ => entry.offset(),
        };
        let start = Addr::new(granule + 8 * offset);
        (start <= addr).then_some((start, block))
    }

    #[inline(always)]
    fn word(arena: &Arena, top: usize, directory: usize, index: usize) -> Option<&AtomicU64> {
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

    fn block(site: u32, size: u64) -> Block {
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
    fn a_block_that_was_freed_is_known_until_its_granule_has_another() {
        let (arena, blocks) = (scratch(), Blocks::new());
        let addr = Addr::new(0x5000_1010);
        assert_eq!(blocks.freed(&arena, addr), None);
        blocks.insert(&arena, addr, block(3, 24)).unwrap();
        assert_eq!(blocks.freed(&arena, addr), None);
        blocks.remove(&arena, addr);
        assert_eq!(blocks.freed(&arena, addr), Some(block(3, 24)));
        assert_eq!(blocks.freed(&arena, Addr::new(0x5000_1000)), None);
        assert_eq!((blocks.find(&arena, addr), blocks.remove(&arena, addr)), (None, None));
        blocks.forget_freed(&arena, addr);
        assert_eq!(blocks.freed(&arena, addr), None);
        blocks.insert(&arena, addr, block(4, 24)).unwrap();
        blocks.forget_freed(&arena, addr);
        assert_eq!(blocks.remove(&arena, addr), Some(block(4, 24)));
        blocks.insert(&arena, Addr::new(0x5000_1000), block(5, 8)).unwrap();
        assert_eq!(blocks.freed(&arena, addr), None);
    }

    #[test]
    fn the_block_around_an_address_is_the_live_one_that_covers_it() {
        let (arena, blocks) = (scratch(), Blocks::new());
        let (start, inner) = (Addr::new(0x5000_1010), Addr::new(0x5000_2000));
        blocks.insert(&arena, inner, block(1, 16)).unwrap();
        blocks.remove(&arena, inner);
        blocks.insert(&arena, start, block(2, 1 << 20)).unwrap();
        let around = |addr: u64| blocks.around(&arena, Addr::new(addr), 1 << 20);
        assert_eq!(
            around(0x5000_2000),
            Enclosing::Block(start, block(2, 1 << 20)),
            "over one that was freed"
        );
        assert_eq!(around(0x5010_100f), Enclosing::Block(start, block(2, 1 << 20)));
        assert_eq!(around(0x5010_1010), Enclosing::Nothing);
        assert_eq!(around(0x5000_100f), Enclosing::Nothing);
        let huge = Addr::new(0x7000_0000_0010);
        blocks.insert(&arena, huge, block(3, 5 << 30)).unwrap();
        assert_eq!(around(0x7000_f000_0000), Enclosing::Block(huge, block(3, 5 << 30)));
        assert_eq!(around(0x7fff_ffff_fff0), Enclosing::Nothing, "terabytes away from any block");
        assert_eq!(around(0x4141_4141_4141_4140), Enclosing::Nothing);
    }

    #[test]
    fn each_live_block_is_visited_once() {
        let (arena, blocks) = (scratch(), Blocks::new());
        blocks.reset(true, false);
        let mut expected = Vec::new();
        for (number, addr) in [0x5000_1010, 0x5000_1018, 0x5000_1020, 0x7f00_0000_0000, 0x7f12_3456_7890]
            .into_iter()
            .enumerate()
        {
            let new = block(number as u32 + 1, if number == 3 { 5 << 30 } else { 24 });
            blocks.insert(&arena, Addr::new(addr), new).unwrap();
            expected.push((Addr::new(addr), new));
        }
        blocks.insert(&arena, Addr::new(0x5000_2000), block(9, 1)).unwrap();
        blocks.remove(&arena, Addr::new(0x5000_2000));
        let mut seen = Vec::new();
        blocks.each(&arena, |addr, block| seen.push((addr, block)));
        assert_eq!(seen, expected);
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
