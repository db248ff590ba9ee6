//! Python's own allocator of small blocks: what its arenas and pools look like, and which blocks of a pool are in use.
//!
//! ```text
//!   arena        256 KiB of pools of 4 KiB up to 3.9 │ 1 MiB of pools of 16 KiB since 3.10; pools are aligned to their size
//!   pool         blocks in use u32 │ – │ first free block │ next pool │ pool before │ arena u32 │ class u32 │
//!                never used from u32 │ last offset u32 │ blocks of (class + 1) × 16 bytes …
//!   free block   next free block │ …
//! ```

use crate::fixed::pool;
use crate::layout::{Layout, Pools};
use crate::version::Version;

/// Bytes of a pool's header.
pub const HEADER: usize = pool::HEADER as usize;

/// Larger blocks come from `malloc`.
pub const LARGEST_SMALL: u64 = pool::LARGEST;

/// The largest pool of any version.
const LARGEST_POOL: u64 = 16 << 10;

/// Words of a set with a bit for each block of the largest pool.
const SET_WORDS: usize = (LARGEST_POOL / pool::ALIGNMENT) as usize / 64;

impl Pools {
    /// Of a version; `None` where it has no such arenas.
    pub fn of(version: Version) -> Option<Self> {
        Layout::of(version).map(|layout| layout.pools)
    }

    /// The header of a pool; `None` where it is none.
    pub fn header(self, bytes: &[u8; HEADER]) -> Option<Header> {
        let field = |at: u64| {
            let at = at as usize;
            bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes).into()
        };
        let (count, class): (u64, u64) = (field(pool::COUNT), field(pool::SZIDX));
        let block = (class + 1) * pool::ALIGNMENT;
        let blocks = self.pool.saturating_sub(pool::HEADER) / block;
        let is_sound = class < pool::LARGEST / pool::ALIGNMENT
            && field(pool::MAXNEXTOFFSET) == self.pool.saturating_sub(block)
            && count <= blocks;
        is_sound.then(|| Header { count, block, blocks, untouched: field(pool::NEXTOFFSET) })
    }
}

/// The header of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Blocks in use.
    pub count: u64,
    /// Bytes of a block.
    pub block: u64,
    /// The capacity of the pool, in blocks.
    pub blocks: u64,
    /// From here on no block was ever in use.
    untouched: u64,
}

impl Header {
    /// Bytes of the blocks in use.
    pub fn used(&self) -> u64 {
        self.count * self.block
    }
}

/// A pool of which all bytes were read.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    start: u64,
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Pool<'a> {
    /// The pool that begins at an address; `None` where it is none, or all of it is free.
    pub fn new(pools: Pools, start: u64, bytes: &'a [u8]) -> Option<Self> {
        let header = pools.header(bytes.first_chunk()?)?;
        let is_whole = bytes.len() as u64 == pools.pool && pools.pool <= LARGEST_POOL;
        (is_whole && header.count > 0).then_some(Self { start, bytes, header })
    }

    /// The addresses of blocks in use, and their size.
    pub fn blocks(&self) -> Option<(impl Iterator<Item = u64>, u64)> {
        let Header { block: size, blocks, untouched, .. } = self.header;
        let touched = untouched.checked_sub(pool::HEADER).filter(|touched| touched.is_multiple_of(size))?;
        let touched = (touched / size).min(blocks);
        let free = self.free_blocks(touched);
        let first = self.start + pool::HEADER;
        let in_use = (0..touched).filter(move |&block| free[block as usize / 64] >> (block % 64) & 1 == 0);
        Some((in_use.map(move |block| first + block * size), size))
    }

    /// The list of free blocks, as a set. It ends where it leads out of the pool, or to a block a second time.
    fn free_blocks(&self, touched: u64) -> [u64; SET_WORDS] {
        let mut free = [0; SET_WORDS];
        let mut next = self.word(pool::FREEBLOCK);
        while let Some(block) = self.block_at(next).filter(|&block| block < touched) {
            let (word, bit) = (&mut free[block as usize / 64], 1 << (block % 64));
            if *word & bit != 0 {
                break;
            }
            *word |= bit;
            next = self.word(next - self.start);
        }
        free
    }

    fn block_at(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.start)?.checked_sub(pool::HEADER)?;
        let is_inside = offset < self.header.blocks * self.header.block;
        (is_inside && offset.is_multiple_of(self.header.block)).then_some(offset / self.header.block)
    }

    fn word(&self, at: u64) -> u64 {
        let at = at as usize;
        let bytes = self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn pools(minor: u8) -> Pools {
        Pools::of(Version::new(3, minor)).unwrap()
    }

    fn header(count: u32, class: u32, last: u32) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&count.to_le_bytes());
        header[36..40].copy_from_slice(&class.to_le_bytes());
        header[44..].copy_from_slice(&last.to_le_bytes());
        header
    }

    fn used(minor: u8, header: [u8; HEADER]) -> Option<u64> {
        pools(minor).header(&header).map(|header| header.used())
    }

    #[test]
    fn a_pool_says_how_much_of_it_is_in_use() {
        assert_eq!(used(11, header(100, 3, 16384 - 64)), Some(6400));
        assert_eq!(used(11, header(0, 3, 16384 - 64)), Some(0));
        assert_eq!(used(9, header(7, 31, 4096 - 512)), Some(3584));
    }

    #[test]
    fn what_is_no_pool_has_no_objects() {
        assert_eq!(used(11, header(0, 0, 0)), None);
        assert_eq!(used(11, header(1, 32, 16384 - 528)), None);
        assert_eq!(used(11, header(400, 3, 16384 - 64)), None);
        assert_eq!(Pools::of(Version::new(3, 15)), None);
    }

    #[test]
    fn blocks_in_use_are_those_that_were_touched_and_are_not_free() {
        const START: u64 = 0x7f00_0000_4000;
        let mut bytes = std::vec![0; 16384];
        bytes[..HEADER].copy_from_slice(&header(2, 3, 16384 - 64));
        bytes[40..44].copy_from_slice(&(48u32 + 4 * 64).to_le_bytes());
        // Four were touched; the second is free, then the first, and that leads to the second again.
        let block = |number: u64| START + 48 + 64 * number;
        bytes[8..16].copy_from_slice(&block(1).to_le_bytes());
        bytes[48 + 64..48 + 72].copy_from_slice(&block(0).to_le_bytes());
        bytes[48..56].copy_from_slice(&block(1).to_le_bytes());
        let pool = Pool::new(pools(12), START, &bytes).unwrap();
        let (blocks, size) = pool.blocks().unwrap();
        assert_eq!((blocks.collect::<Vec<_>>(), size), (std::vec![block(2), block(3)], 64));
    }
}
