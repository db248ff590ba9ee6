//! Live blocks in the order of their addresses, and which of them an address lies in.
//!
//! ```text
//!   address │ 46 … 30 area (1 GiB) │ 29 … 16 region (64 KiB) │ 15 … 9 word │ 8 … 3 bit │ 2 1 0 │
//!
//!   region   0: no block │ COVERED + n: none begins here, but block n may reach in │ else the number of its leaf
//!   leaf     128 words: a bit for each 8 bytes, set where a block begins, and how many blocks begin before the word
//! ```
//!
//! A look-up loads one word of a leaf and one extent, for a pointer to a start not even that; what no block is near to is refused
//! by the region.

use heaplens_format::{Addr, Bytes};
use thiserror::Error;

const AREA_BITS: u32 = 30;
const REGION_BITS: u32 = 16;
const WORD_BITS: u32 = 9;
const ADDRESS_BITS: u32 = 47;
const AREAS: usize = 1 << (ADDRESS_BITS - AREA_BITS);
const REGIONS_PER_AREA: usize = 1 << (AREA_BITS - REGION_BITS);
const WORDS_PER_LEAF: usize = 1 << (REGION_BITS - WORD_BITS);
const COVERED: u32 = 1 << 31;

/// So many bits of an edge are the number of its block.
pub(super) const ID_BITS: u32 = 29;
/// The most blocks that a graph can have.
const MOST_BLOCKS: usize = 1 << ID_BITS;

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stack that allocated it, by whatever number.
    pub site: u32,
}

/// A block by its place in the order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

impl BlockId {
    pub(super) fn new(number: usize) -> Self {
        debug_assert!(number < MOST_BLOCKS);
        Self(number as u32)
    }

    pub(super) fn raw(self) -> u32 {
        self.0
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// More live blocks than a graph can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{blocks} live blocks: at most {MOST_BLOCKS} can be looked at")]
pub struct TooManyBlocks {
    /// How many there are.
    pub blocks: usize,
}

/// Live blocks, sorted.
#[derive(Debug)]
pub struct Blocks {
    extents: Vec<Extent>,
    sites: Vec<u32>,
    index: Index,
    /// Where the first block begins, and from there to the end of the last.
    first: u64,
    reach: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    start: u64,
    size: u64,
}

impl Blocks {
    /// Of two blocks at one address, which a table that changes may hold, the first counts. So do none beyond user space.
    pub fn new(mut blocks: Vec<Block>) -> Result<Self, TooManyBlocks> {
        blocks.retain(|block| block.address.get() >> ADDRESS_BITS == 0);
        blocks.sort_by_key(|block| block.address);
        blocks.dedup_by_key(|block| block.address);
        if blocks.len() > MOST_BLOCKS {
            return Err(TooManyBlocks { blocks: blocks.len() });
        }
        let extent = |block: &Block| Extent { start: block.address.get(), size: block.size.get() };
        let extents: Vec<Extent> = blocks.iter().map(extent).collect();
        let sites = blocks.iter().map(|block| block.site).collect();
        let index = Index::new(&extents);
        let first = extents.first().map_or(0, |extent| extent.start);
        let ends = extents.iter().map(|extent| extent.start.saturating_add(extent.size.max(1)));
        let reach = ends.max().map_or(0, |end| end - first);
        Ok(Self { extents, sites, index, first, reach })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.extents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// All of them, in the order of their addresses.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        (0..self.len()).map(BlockId::new)
    }

    /// One of them.
    pub fn get(&self, block: BlockId) -> Block {
        let extent = self.extents[block.index()];
        Block {
            address: Addr::new(extent.start),
            size: Bytes::new(extent.size),
            site: self.sites[block.index()],
        }
    }

    /// Where a block begins and ends.
    pub(super) fn range(&self, block: BlockId) -> (u64, u64) {
        let extent = self.extents[block.index()];
        (extent.start, extent.start.saturating_add(extent.size))
    }

    /// Whether a chunk of glibc's may begin at an address that lies in a block: a block may use the first word of the chunk
    /// behind its own.
    pub(super) fn is_next_chunk(&self, address: u64) -> bool {
        const HEADER: u64 = 16;
        self.find(address).is_some_and(|(block, offset)| {
            let size = self.extents[block.index()].size;
            (size + 8).next_multiple_of(16).max(32) == offset + HEADER
        })
    }

    /// The block that an address lies in, and how far behind its beginning. The beginning of an empty block is in it.
    #[inline]
    pub fn find(&self, address: u64) -> Option<(BlockId, u64)> {
        self.settle(address, self.near(address))
    }

    /// Whether an address lies between the first block and the last: no memory is touched for this.
    #[inline]
    pub(super) fn may_hold(&self, address: u64) -> bool {
        address.wrapping_sub(self.first) < self.reach
    }

    /// The first half of [`Self::find`]: what the index says.
    #[inline]
    pub(super) fn near(&self, address: u64) -> Near {
        self.index.last_up_to(address)
    }

    /// The second half.
    #[inline]
    pub(super) fn settle(&self, address: u64, near: Near) -> Option<(BlockId, u64)> {
        match near {
            Near::Nothing => None,
            Near::Start(block) => Some((BlockId(block), 0)),
            Near::Behind(block) => {
                let extent = self.extents.get(block as usize)?;
                let offset = address.wrapping_sub(extent.start);
                (offset < extent.size || offset == 0).then_some((BlockId(block), offset))
            }
        }
    }
}

/// What the index says about an address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Near {
    /// No block is near.
    #[default]
    Nothing,
    /// A block begins there.
    Start(u32),
    /// The last block that begins there or before; it may reach so far.
    Behind(u32),
}

/// Where blocks begin.
#[derive(Debug)]
struct Index {
    /// The first region of an area, 0 where no block is near.
    areas: Vec<u32>,
    regions: Vec<u32>,
    leaves: Vec<Word>,
    /// Every block begins at a multiple of 8: then a bit is as good as an address.
    is_aligned: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// A bit for each 8 bytes.
    begins: u64,
    /// Blocks that begin before this word.
    before: u32,
}

impl Index {
    fn new(extents: &[Extent]) -> Self {
        // Region and leaf 0 are nobody's: 0 says that there is none.
        let is_aligned = extents.iter().all(|extent| extent.start & 7 == 0);
        let mut index = Self { areas: vec![0; AREAS], regions: vec![0], leaves: Vec::new(), is_aligned };
        for (number, extent) in (0..).zip(extents) {
            index.insert(number, *extent);
        }
        let mut before = 0;
        for word in &mut index.leaves {
            word.before = before;
            before += word.begins.count_ones();
        }
        index
    }

    /// Blocks come in the order of their addresses, so leaves are made in that order, too.
    fn insert(&mut self, number: u32, extent: Extent) {
        let region = self.region_mut(extent.start);
        let leaf = match self.regions[region] {
            0 | COVERED.. => self.new_leaf(region),
            leaf => leaf,
        };
        let word = &mut self.leaves[Self::word_of(leaf, extent.start)];
        word.begins |= 1 << bit_of(extent.start);
        let end = extent.start.saturating_add(extent.size).min(1 << ADDRESS_BITS);
        for address in ((extent.start >> REGION_BITS) + 1..=end.saturating_sub(1) >> REGION_BITS)
            .map(|region| region << REGION_BITS)
        {
            let region = self.region_mut(address);
            self.regions[region] = COVERED | number;
        }
    }

    fn new_leaf(&mut self, region: usize) -> u32 {
        self.leaves.resize(self.leaves.len() + WORDS_PER_LEAF, Word::default());
        let leaf = (self.leaves.len() / WORDS_PER_LEAF) as u32;
        self.regions[region] = leaf;
        leaf
    }

    fn region_mut(&mut self, address: u64) -> usize {
        let area = &mut self.areas[(address >> AREA_BITS) as usize];
        if *area == 0 {
            *area = self.regions.len() as u32;
            self.regions.resize(self.regions.len() + REGIONS_PER_AREA, 0);
        }
        *area as usize + region_of(address)
    }

    /// The last block that begins at the address or before it, if it may reach the address.
    #[inline]
    fn last_up_to(&self, address: u64) -> Near {
        let area = self.areas.get((address >> AREA_BITS) as usize).copied().unwrap_or_default();
        if area == 0 {
            return Near::Nothing;
        }
        match self.regions[area as usize + region_of(address)] {
            0 => Near::Nothing,
            covered @ COVERED.. => Near::Behind(covered & !COVERED),
            leaf => {
                let word = self.leaves[Self::word_of(leaf, address)];
                let up_to = word.begins & (u64::MAX >> (63 - bit_of(address)));
                let number = word.before + up_to.count_ones();
                if self.is_aligned && address & 7 == 0 && word.begins >> bit_of(address) & 1 == 1 {
                    Near::Start(number - 1)
                } else if number > 0 {
                    Near::Behind(number - 1)
                } else {
                    Near::Nothing
                }
            }
        }
    }

    fn word_of(leaf: u32, address: u64) -> usize {
        (leaf as usize - 1) * WORDS_PER_LEAF + (address >> WORD_BITS) as usize % WORDS_PER_LEAF
    }
}

fn region_of(address: u64) -> usize {
    (address >> REGION_BITS) as usize % REGIONS_PER_AREA
}

fn bit_of(address: u64) -> u32 {
    (address >> 3) as u32 & 63
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(address: u64, size: u64) -> Block {
        Block { address: Addr::new(address), size: Bytes::new(size), site: 1 }
    }

    fn found(blocks: &Blocks, address: u64) -> Option<(u64, u64)> {
        blocks.find(address).map(|(block, offset)| (blocks.get(block).address.get(), offset))
    }

    #[test]
    fn a_block_is_found_by_every_address_in_it_and_by_no_other() {
        let blocks =
            Blocks::new(vec![block(0x1000, 24), block(0x1018, 0), block(0x7fff_0000_0008, 8)]).unwrap();
        assert_eq!(found(&blocks, 0x0fff), None);
        assert_eq!(found(&blocks, 0x1000), Some((0x1000, 0)));
        assert_eq!(found(&blocks, 0x1017), Some((0x1000, 23)));
        assert_eq!(found(&blocks, 0x1018), Some((0x1018, 0)), "an empty block has an address");
        assert_eq!(found(&blocks, 0x1019), None);
        assert_eq!(found(&blocks, 0x7fff_0000_000f), Some((0x7fff_0000_0008, 7)));
        assert_eq!(found(&blocks, 0x7fff_0000_0010), None);
        assert_eq!(found(&blocks, u64::MAX), None);
    }

    #[test]
    fn a_block_may_begin_between_two_words() {
        let blocks = Blocks::new(vec![block(0x1004, 24), block(0x1020, 8)]).unwrap();
        assert_eq!(found(&blocks, 0x1000), None);
        assert_eq!(found(&blocks, 0x1003), None);
        assert_eq!(found(&blocks, 0x1004), Some((0x1004, 0)));
        assert_eq!(found(&blocks, 0x1008), Some((0x1004, 4)));
        assert_eq!(found(&blocks, 0x1020), Some((0x1020, 0)));
    }

    #[test]
    fn a_block_of_many_regions_is_found_in_its_middle_and_behind_a_neighbour() {
        let (start, size) = (0x10_0000_1000, 5 << 30);
        let blocks = Blocks::new(vec![block(start, size), block(start + size + 8, 8)]).unwrap();
        for offset in [0, 0xf000, 0x1_0000, 1 << 30, (4 << 30) + 77, size - 1] {
            assert_eq!(found(&blocks, start + offset), Some((start, offset)));
        }
        assert_eq!(found(&blocks, start + size), None);
        assert_eq!(found(&blocks, start + size + 8), Some((start + size + 8, 0)));
    }

    #[test]
    fn the_chunk_behind_a_block_begins_in_its_last_word_if_at_all() {
        let of = |size: u64, offset: u64| {
            Blocks::new(vec![block(0x1000, size)]).unwrap().is_next_chunk(0x1000 + offset)
        };
        assert!(of(20, 16) && of(24, 16) && of(40, 32));
        assert!(!of(20, 8) && !of(40, 16) && !of(16, 16) && !of(32, 16) && !of(24, 0));
    }

    proptest! {
        #[test]
        fn the_index_says_what_a_search_through_all_blocks_says(
            drawn in prop::collection::vec((0u64..40, 0u64..3, 1u64..90_000), 1..60),
            steps in prop::collection::vec((0usize..60, 0u64..100_000), 1..60),
        ) {
            let mut at = 0x5555_0000_0000;
            let mut all = Vec::new();
            for (gap, far, size) in drawn {
                at += 8 * gap + ((far / 2) << 30);
                all.push(block(at, size));
                at = (at + size).next_multiple_of(8);
            }
            let blocks = Blocks::new(all.clone()).unwrap();
            for (from, step) in steps {
                let address = all[from % all.len()].address.get().wrapping_add(step);
                let naive = all.iter().find_map(|block| {
                    let offset = address.checked_sub(block.address.get())?;
                    (offset < block.size.get()).then_some((block.address.get(), offset))
                });
                prop_assert_eq!(found(&blocks, address), naive);
            }
        }
    }
}
