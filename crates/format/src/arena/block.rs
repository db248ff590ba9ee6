//! One live block as a word of the block table.
//!
//! The table is a shadow of the address space: one word for every 32-byte granule, found by two directory levels.
//!
//! ```text
//!   address  │ 47 … 30 TOP (1 GiB) │ 29 … 14 directory (16 KiB) │ 13 … 5 leaf: 512 words │ 4 3 offset │ 2 1 0 │
//!
//!   word     │ 63 62 tag │ 61 … 59 family │ 58 57 offset │ 56 … 33 site │ 32 … 1 size │ 0 ignored │
//!            tag 0: empty when all is 0, else one block; 1: fine cell; 2: huge block; 3: freed
//! ```
//!
//! glibc's blocks are 16-byte aligned and at least 32 bytes apart, so a granule has one at most. Other allocators pack
//! 8-byte blocks: when a second block comes to a granule, the word becomes the number of a *fine cell* with one word for
//! each 8 bytes, and stays so. A block of 4 GiB or more has its size in a cell, too.
//!
//! What a block was stays when it is freed, with another tag, until the granule has another block: so a second free is known from
//! that of a block that was never seen. Readers take such a word for an empty one.

pub use crate::memory::Family;
use crate::units::{Bytes, SiteId};

/// log2 of the bytes that one word of a leaf stands for.
pub const GRANULE_BITS: u32 = 5;
/// log2 of the bytes that one leaf (a page of words) stands for.
pub const LEAF_BITS: u32 = 14;
/// log2 of the bytes that one directory stands for.
pub const DIRECTORY_BITS: u32 = 30;
/// log2 of the bytes that the whole table stands for: user space of x86-64 with four-level paging.
pub const ADDRESS_BITS: u32 = 47;
/// Words in a leaf.
pub const LEAF_WORDS: usize = 1 << (LEAF_BITS - GRANULE_BITS);
/// Entries (u32 page numbers) in a directory.
pub const DIRECTORY_ENTRIES: usize = 1 << (DIRECTORY_BITS - LEAF_BITS);
/// Entries (u32 page numbers of directories) in TOP.
pub const TOP_ENTRIES: usize = 1 << (ADDRESS_BITS - DIRECTORY_BITS);
/// Words in a fine cell: one for each 8 bytes of a granule.
pub const CELL_WORDS: usize = 4;
/// The largest site number that fits a word.
pub const MAX_SITE: u32 = (1 << SITE_BITS) - 1;

const SIZE_BITS: u32 = 32;
const SITE_BITS: u32 = 24;
const SIZE_SHIFT: u32 = 1;
const SITE_SHIFT: u32 = SIZE_SHIFT + SIZE_BITS;
const OFFSET_SHIFT: u32 = SITE_SHIFT + SITE_BITS;
const FAMILY_SHIFT: u32 = OFFSET_SHIFT + 2;
const TAG_SHIFT: u32 = FAMILY_SHIFT + 3;
const TAG_FINE: u64 = 1;
const TAG_HUGE: u64 = 2;
const TAG_FREED: u64 = 3;

/// A word of the block table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct BlockEntry(u64);

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No block begins in this granule.
    Empty,
    /// One block.
    Block,
    /// Several blocks: the number of the fine cell.
    Fine(u32),
    /// A block of 4 GiB or more: the cell whose word 0 is the entry with size 0 and whose word 1 is the size.
    Huge(u32),
    /// No block any more: the last one that began here was freed.
    Freed,
}

impl BlockEntry {
    /// No block.
    pub const EMPTY: Self = Self(0);

    /// Packs a block; `None` when it does not fit a word (4 GiB or more).
    #[inline(always)]
    pub const fn pack(site: SiteId, size: Bytes, family: Family, offset: u64) -> Option<Self> {
        if size.get() >> SIZE_BITS != 0 {
            return None;
        }
        Some(Self(
            size.get() << SIZE_SHIFT
                | ((site.get() & MAX_SITE) as u64) << SITE_SHIFT
                | (offset & 3) << OFFSET_SHIFT
                | (family as u64) << FAMILY_SHIFT,
        ))
    }

    /// The word that points to a fine cell.
    pub const fn fine(cell: u32) -> Self {
        Self(TAG_FINE << TAG_SHIFT | cell as u64)
    }

    /// The word that points to the cell of a huge block.
    pub const fn huge(cell: u32) -> Self {
        Self(TAG_HUGE << TAG_SHIFT | cell as u64)
    }

    /// The same block, kept on purpose: it is not reported as lost.
    pub const fn ignored(self) -> Self {
        Self(self.0 | 1)
    }

    /// Whether the program said so.
    pub const fn is_ignored(self) -> bool {
        self.0 & 1 != 0
    }

    /// From the raw word.
    #[inline(always)]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The raw word.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// What the word says.
    pub const fn shape(self) -> Shape {
        match self.0 >> TAG_SHIFT {
            0 if self.0 == 0 => Shape::Empty,
            0 => Shape::Block,
            TAG_FINE => Shape::Fine(self.0 as u32),
            TAG_HUGE => Shape::Huge(self.0 as u32),
            _ => Shape::Freed,
        }
    }

    /// What stays of an ordinary block when it is freed.
    #[inline(always)]
    pub const fn freed(self) -> Self {
        Self(self.0 | TAG_FREED << TAG_SHIFT)
    }

    /// Whether no block is here, be it that one was freed: tag 3 and the upper end of 0 are next to each other.
    #[inline(always)]
    pub const fn is_vacant(self) -> bool {
        self.0.wrapping_add(1 << TAG_SHIFT) <= 1 << TAG_SHIFT
    }

    /// Whether the last block here began `offset` × 8 bytes into the granule, and was freed.
    pub const fn is_freed_at(self, offset: u64) -> bool {
        matches!(self.shape(), Shape::Freed) && self.offset() == offset
    }

    /// Whether this is one ordinary block that begins `offset` × 8 bytes into the granule.
    #[inline(always)]
    pub const fn is_block_at(self, offset: u64) -> bool {
        self.0 != 0 && self.0 >> TAG_SHIFT == 0 && self.offset() == offset
    }

    /// The site of a block.
    #[inline(always)]
    pub const fn site(self) -> SiteId {
        SiteId::new((self.0 >> SITE_SHIFT) as u32 & MAX_SITE)
    }

    /// The size of a block.
    #[inline(always)]
    pub const fn size(self) -> Bytes {
        Bytes::new(self.0 >> SIZE_SHIFT & u32::MAX as u64)
    }

    /// Where in the granule the block begins, in units of 8 bytes.
    #[inline(always)]
    pub const fn offset(self) -> u64 {
        self.0 >> OFFSET_SHIFT & 3
    }

    /// Which function made the block.
    pub const fn family(self) -> Family {
        Family::from_bits(self.0 >> FAMILY_SHIFT)
    }
}

/// Where the word of an address is: entry of TOP, entry of the directory, word of the leaf, offset in the granule.
#[inline(always)]
pub const fn split_address(address: u64) -> (usize, usize, usize, u64) {
    (
        (address >> DIRECTORY_BITS) as usize,
        (address >> LEAF_BITS) as usize & (DIRECTORY_ENTRIES - 1),
        (address >> GRANULE_BITS) as usize & (LEAF_WORDS - 1),
        address >> 3 & 3,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_block_reads_back(site in 1..=MAX_SITE, size in 0..=u64::from(u32::MAX), offset in 0u64..4) {
            let entry = BlockEntry::pack(SiteId::new(site), Bytes::new(size), Family::NewArray, offset).unwrap();
            prop_assert_eq!(entry.site().get(), site);
            prop_assert_eq!(entry.size().get(), size);
            prop_assert_eq!(entry.family(), Family::NewArray);
            prop_assert!(entry.is_block_at(offset) && !entry.is_ignored());
            prop_assert_eq!(entry.shape(), Shape::Block);
            let ignored = entry.ignored();
            prop_assert!(ignored.is_ignored() && ignored.is_block_at(offset));
            prop_assert_eq!((ignored.site().get(), ignored.size().get()), (site, size));
        }

        #[test]
        fn a_freed_block_is_a_vacant_word_that_keeps_what_it_was(site in 1..=MAX_SITE, size in 0..=u64::from(u32::MAX), offset in 0u64..4) {
            let block = BlockEntry::pack(SiteId::new(site), Bytes::new(size), Family::AlignedNewArray, offset).unwrap();
            let freed = block.freed();
            prop_assert!(freed.is_vacant() && !block.is_vacant());
            prop_assert_eq!((freed.site(), freed.size(), freed.family()), (block.site(), block.size(), block.family()));
            prop_assert!(freed.is_freed_at(offset) && !freed.is_freed_at(offset ^ 1) && !freed.is_block_at(offset));
            prop_assert_eq!(freed.shape(), Shape::Freed);
        }

        #[test]
        fn an_address_is_the_sum_of_its_parts(granule in 0u64..1 << (ADDRESS_BITS - 3)) {
            let address = granule << 3;
            let (top, directory, word, offset) = split_address(address);
            let back = (top as u64) << DIRECTORY_BITS | (directory as u64) << LEAF_BITS
                | (word as u64) << GRANULE_BITS | offset << 3;
            prop_assert_eq!(back, address);
        }
    }

    #[test]
    fn a_block_of_four_gibibytes_does_not_fit_a_word() {
        assert!(BlockEntry::pack(SiteId::new(1), Bytes::new(1 << 32), Family::Malloc, 0).is_none());
        assert_eq!(BlockEntry::huge(7).shape(), Shape::Huge(7));
        assert_eq!(BlockEntry::fine(u32::MAX).shape(), Shape::Fine(u32::MAX));
        assert!(BlockEntry::EMPTY.is_vacant());
        assert!(!BlockEntry::huge(u32::MAX).is_vacant() && !BlockEntry::fine(0).is_vacant());
    }
}
