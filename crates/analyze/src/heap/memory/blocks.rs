//! Live blocks in the order of their addresses, and which of them an address lies in.

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{Block, Span};
use thiserror::Error;

use super::block_id::{BlockId, MOST_BLOCKS};
use super::index::{ADDRESS_BITS, Extent, Index, Near, Spot};

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
    /// Where the first block begins, and how far it is from there to the end of the last.
    first: Addr,
    length: Bytes,
}

impl Blocks {
    /// Of two blocks at one address, which a table that changes may hold, the first counts. So do none beyond user space.
    pub fn new(mut blocks: Vec<Block>) -> Result<Self, TooManyBlocks> {
        let is_known = |block: &Block| block.address.get() >> ADDRESS_BITS == 0;
        if !blocks.iter().all(is_known) || !blocks.is_sorted_by(|one, next| one.address < next.address) {
            blocks.retain(is_known);
            blocks.sort_by_key(|block| block.address);
            blocks.dedup_by_key(|block| block.address);
        }
        if blocks.len() > MOST_BLOCKS {
            return Err(TooManyBlocks { blocks: blocks.len() });
        }
        let extent = |block: &Block| Extent { start: block.address, size: block.size };
        let extents: Vec<Extent> = blocks.iter().map(extent).collect();
        let sites = blocks.iter().map(|block| block.site).collect();
        drop(blocks);
        let index = Index::new(&extents);
        let first = extents.first().map_or_else(Addr::default, |extent| extent.start);
        let ends = extents.iter().map(|extent| end_of(extent.start, extent.size.max(Bytes::new(1))));
        let length = ends.max().map_or(Bytes::ZERO, |end| end - first);
        Ok(Self { extents, sites, index, first, length })
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
        Block { address: extent.start, size: extent.size, site: self.sites[block.index()] }
    }

    /// Where a block begins and ends.
    #[inline]
    pub(crate) fn span(&self, block: BlockId) -> Span {
        let extent = self.extents[block.index()];
        Span::new(extent.start, end_of(extent.start, extent.size))
    }

    /// Whether a chunk of glibc's may begin at an address that lies in a block: a block may use the first word of the chunk
    /// after its own.
    pub(crate) fn is_next_chunk(&self, address: Addr) -> bool {
        const HEADER: u64 = 16;
        self.find(address).is_some_and(|(block, offset)| {
            let size = self.extents[block.index()].size.get();
            (size + 8).next_multiple_of(16).max(32) == offset.get() + HEADER
        })
    }

    /// The block that an address lies in, and the offset in it. The beginning of an empty block is in it.
    #[inline]
    pub fn find(&self, address: Addr) -> Option<(BlockId, Bytes)> {
        match self.near(address, self.spot(address)) {
            Near::Nothing => None,
            Near::Start(block) => Some((block, Bytes::ZERO)),
            Near::After(block) => self.settle(address, block),
        }
    }

    /// Whether an address lies between the first block and the last: no memory is touched for this.
    #[inline]
    pub(crate) fn may_hold(&self, address: Addr) -> bool {
        address - self.first < self.length
    }

    /// The first step of [`Self::find`]: where the index describes an address.
    #[inline]
    pub(crate) fn spot(&self, address: Addr) -> Spot {
        self.index.spot(address)
    }

    /// The second: what the index says.
    #[inline]
    pub(crate) fn near(&self, address: Addr, spot: Spot) -> Near {
        self.index.last_up_to(address, spot)
    }

    /// The third, where a block is near that begins elsewhere: whether it reaches so far.
    #[inline]
    pub(crate) fn settle(&self, address: Addr, block: BlockId) -> Option<(BlockId, Bytes)> {
        let extent = self.extents.get(block.index())?;
        let offset = address - extent.start;
        (offset < extent.size || offset == Bytes::ZERO).then_some((block, offset))
    }

    /// The same for a pointer. `new[]` of no elements gives a pointer to the end of a block that is a count and nothing else: so a pointer to the
    /// end of a block of this size may be one to it.
    #[inline]
    pub(crate) fn settle_pointer(&self, address: Addr, block: BlockId) -> Option<(BlockId, Bytes)> {
        let is_end = |extent: &&Extent| extent.size == COUNT && address - extent.start == COUNT;
        self.settle(address, block)
            .or_else(|| self.extents.get(block.index()).filter(is_end).map(|_| (block, COUNT)))
    }

    /// [`Self::find`] for a pointer.
    pub(crate) fn find_pointer(&self, address: Addr) -> Option<(BlockId, Bytes)> {
        match self.near(address, self.spot(address)) {
            Near::After(block) => self.settle_pointer(address, block),
            _ => self.find(address),
        }
    }

    /// Whether a place in a block is its end, to which only the array of no elements has a pointer.
    #[inline]
    pub(crate) fn is_end(&self, block: BlockId, offset: Option<u8>) -> bool {
        offset.map(u64::from) == Some(COUNT.get()) && self.extents[block.index()].size == COUNT
    }
}

/// The number of elements that `new[]` puts before objects with destructors.
const COUNT: Bytes = Bytes::new(8);

/// Where something of a size ends.
#[inline]
fn end_of(start: Addr, size: Bytes) -> Addr {
    Addr::new(start.get().saturating_add(size.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(address: u64, size: u64) -> Block {
        Block { address: Addr::new(address), size: Bytes::new(size), site: 1 }
    }

    fn found(blocks: &Blocks, address: u64) -> Option<(u64, u64)> {
        let found = blocks.find(Addr::new(address));
        found.map(|(block, offset)| (blocks.get(block).address.get(), offset.get()))
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
    fn a_block_of_many_regions_is_found_in_its_middle_and_before_a_neighbour() {
        let (start, size) = (0x10_0000_1000, 5 << 30);
        let blocks = Blocks::new(vec![block(start, size), block(start + size + 8, 8)]).unwrap();
        for offset in [0, 0xf000, 0x1_0000, 1 << 30, (4 << 30) + 77, size - 1] {
            assert_eq!(found(&blocks, start + offset), Some((start, offset)));
        }
        assert_eq!(found(&blocks, start + size), None);
        assert_eq!(found(&blocks, start + size + 8), Some((start + size + 8, 0)));
    }

    #[test]
    fn the_chunk_after_a_block_begins_in_its_last_word_if_at_all() {
        let of = |size: u64, offset: u64| {
            Blocks::new(vec![block(0x1000, size)]).unwrap().is_next_chunk(Addr::new(0x1000 + offset))
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
