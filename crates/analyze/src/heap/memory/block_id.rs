//! A block by its number.

/// So many bits of an edge are the number of its block.
pub(crate) const ID_BITS: u32 = 29;
/// The most blocks that a graph can have.
pub(crate) const MOST_BLOCKS: usize = 1 << ID_BITS;

/// A block by its position in the order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

impl BlockId {
    pub(crate) fn new(number: usize) -> Self {
        debug_assert!(number < MOST_BLOCKS);
        Self(number as u32)
    }

    pub(crate) fn raw(self) -> u32 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
