//! The block table, searched: the block around an address, all live ones, and those that were freed. Nothing here is on the path of an allocation or of a free.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use heaplens_format::Addr;
use heaplens_format::arena::BlockEntry;
use heaplens_format::arena::block::{
    ADDRESS_BITS, DIRECTORY_BITS, DIRECTORY_ENTRIES, GRANULE_BITS, LEAF_BITS, Shape, TOP_ENTRIES,
    split_address,
};

use super::table::{Block, Blocks};
use crate::tables::arena::Arena;

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

impl Blocks {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use heaplens_format::arena::Family;
    use heaplens_format::{Bytes, SiteId};
    use std::vec::Vec;

    fn block(site: u32, size: u64) -> Block {
        Block { site: SiteId::new(site), size: Bytes::new(size), family: Family::New }
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
}
