//! Which block begins at an address or before it, in two loads.
//!
//! ```text
//!   address │ 46 … 30 area (1 GiB) │ 29 … 16 region (64 KiB) │ word │ 9 … 4 bit │ 3 … 0 │
//!
//!   region   0: no block │ COVERED + n: none begins here, but block n may reach in │ else the number of its leaf
//!   leaf     64 words: a bit for each 16 bytes, set where a block begins, and how many blocks begin before the word
//! ```
//!
//! Where a block begins at an odd multiple of 8 a bit stands for 8 bytes, and a leaf has 128 words. A look-up loads one word of
//! a leaf and one extent, for a pointer to a start not even that; what no block is near to is refused by the region.

use heaplens_format::{Addr, Bytes};

use super::block_id::BlockId;

const AREA_BITS: u32 = 30;
const REGION_BITS: u32 = 16;
/// Addresses of a program have no more.
pub(crate) const ADDRESS_BITS: u32 = 47;
const AREAS: usize = 1 << (ADDRESS_BITS - AREA_BITS);
const REGIONS_PER_AREA: usize = 1 << (AREA_BITS - REGION_BITS);
const COVERED: u32 = 1 << 31;

/// Where a block begins, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: Addr,
    pub(crate) size: Bytes,
}

/// Where the index describes an address: the number of a word of a leaf, or [`SPOT_COVERED`] and a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot(u64);

const SPOT_COVERED: u64 = 1 << 63;

/// What the index says about an address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Near {
    /// No block is near.
    Nothing,
    /// A block begins there.
    Start(BlockId),
    /// The last block that begins before it; it may reach so far.
    After(BlockId),
}

/// Where blocks begin. Area 0 and leaf 0 are those of no block: nothing is ever put into them.
#[derive(Debug)]
pub(crate) struct Index {
    /// Where the regions of an area begin, 0 where no block is near.
    areas: Vec<u32>,
    regions: Vec<u32>,
    leaves: Vec<Word>,
    /// A bit stands for `1 << granule` bytes.
    granule: u32,
    /// In every such part at most one block begins, and at its first byte: then a bit is as good as an address.
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
    pub(crate) fn new(extents: &[Extent]) -> Self {
        let bits = extents.iter().fold(0, |bits, extent| bits | extent.start.get());
        let granule = if bits & 15 == 0 { 4 } else { 3 };
        let areas = vec![0; AREAS];
        let mut index = Self {
            areas,
            regions: vec![0; REGIONS_PER_AREA],
            leaves: Vec::new(),
            granule,
            is_aligned: bits & 7 == 0,
        };
        index.leaves.resize(index.words_per_leaf(), Word::default());
        index.insert_all(extents);
        let mut before = 0;
        for word in &mut index.leaves {
            word.before = before;
            before += word.begins.count_ones();
        }
        index
    }

    /// Blocks come in the order of their addresses, so leaves are made in that order, too, and the last one is mostly meant.
    fn insert_all(&mut self, extents: &[Extent]) {
        let (mut region, mut leaf) = (u64::MAX, 0);
        for (number, extent) in (0..).zip(extents) {
            if extent.start.get() >> REGION_BITS != region {
                region = extent.start.get() >> REGION_BITS;
                leaf = self.leaf_of(extent.start);
            }
            let (word, bit) = (self.word_of(leaf, extent.start), self.bit_of(extent.start));
            self.leaves[word].begins |= 1 << bit;
            let end = extent.start.get().saturating_add(extent.size.get()).min(1 << ADDRESS_BITS);
            for address in (region + 1..=end.saturating_sub(1) >> REGION_BITS).map(|next| next << REGION_BITS)
            {
                let covered = self.region_mut(Addr::new(address));
                self.regions[covered] = COVERED | number;
            }
        }
    }

    /// The leaf of a region, which is made if there is none.
    fn leaf_of(&mut self, address: Addr) -> u32 {
        let region = self.region_mut(address);
        if let 0 | COVERED.. = self.regions[region] {
            self.regions[region] = (self.leaves.len() / self.words_per_leaf()) as u32;
            self.leaves.resize(self.leaves.len() + self.words_per_leaf(), Word::default());
        }
        self.regions[region]
    }

    fn region_mut(&mut self, address: Addr) -> usize {
        let area = &mut self.areas[(address.get() >> AREA_BITS) as usize];
        if *area == 0 {
            *area = self.regions.len() as u32;
            self.regions.resize(self.regions.len() + REGIONS_PER_AREA, 0);
        }
        *area as usize + region_of(address)
    }

    #[inline]
    pub(crate) fn spot(&self, address: Addr) -> Spot {
        let area = self.areas.get((address.get() >> AREA_BITS) as usize).copied().unwrap_or_default();
        Spot(match self.regions[area as usize + region_of(address)] {
            covered @ COVERED.. => SPOT_COVERED | u64::from(covered & !COVERED),
            leaf => self.word_of(leaf, address) as u64,
        })
    }

    /// The last block that begins at the address or before it, if it may reach the address.
    #[inline]
    pub(crate) fn last_up_to(&self, address: Addr, spot: Spot) -> Near {
        if spot.0 >= SPOT_COVERED {
            return Near::After(BlockId::new((spot.0 & !SPOT_COVERED) as usize));
        }
        let (word, bit) = (self.leaves[spot.0 as usize], self.bit_of(address));
        let up_to = word.begins & (u64::MAX >> (63 - bit));
        let number = word.before + up_to.count_ones();
        let is_first_byte = address.get() & ((1 << self.granule) - 1) == 0;
        if is_first_byte && word.begins >> bit & 1 == 1 && self.is_aligned {
            Near::Start(BlockId::new(number as usize - 1))
        } else if number > 0 {
            Near::After(BlockId::new(number as usize - 1))
        } else {
            Near::Nothing
        }
    }

    #[inline]
    fn words_per_leaf(&self) -> usize {
        1 << (REGION_BITS - 6 - self.granule)
    }

    #[inline]
    fn word_of(&self, leaf: u32, address: Addr) -> usize {
        let number = (address.get() >> (6 + self.granule)) as usize % self.words_per_leaf();
        leaf as usize * self.words_per_leaf() + number
    }

    #[inline]
    fn bit_of(&self, address: Addr) -> u32 {
        (address.get() >> self.granule) as u32 & 63
    }
}

#[inline]
fn region_of(address: Addr) -> usize {
    (address.get() >> REGION_BITS) as usize % REGIONS_PER_AREA
}
