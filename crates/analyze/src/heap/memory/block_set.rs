//! A set of blocks, with a bit for each block of the heap. It keeps nothing else about them.

use heaplens_format::Addr;

use super::block_id::BlockId;
use super::blocks::Blocks;

/// A set of blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockSet(Vec<u64>);

impl BlockSet {
    /// Those that one of these addresses lies in.
    pub(crate) fn of(addresses: impl Iterator<Item = Addr>, blocks: &Blocks) -> Self {
        let mut set = Self::default();
        addresses.filter_map(|address| blocks.find(address)).for_each(|(block, _)| set.insert(block));
        set
    }

    pub(crate) fn insert(&mut self, block: BlockId) {
        let at = block.index() / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (block.index() % 64);
    }

    #[inline]
    pub(crate) fn contains(&self, block: BlockId) -> bool {
        self.0.get(block.index() / 64).is_some_and(|bits| bits >> (block.index() % 64) & 1 != 0)
    }
}
