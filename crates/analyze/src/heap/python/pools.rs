//! Blocks of Python's own allocator that are in use, by the headers of its pools.
//!
//! ```text
//!   pool   blocks in use u32 │ – │ first free block │ next pool │ pool before │ arena u32 │ class u32 │ never used from u32
//!          │ last offset u32 │ blocks of (class + 1) × 16 bytes …
//!   free block   next free block │ …
//! ```

use crate::heap::ReadMemory;

const HEADER: u64 = 48;
const ALIGNMENT: u64 = 16;
const CLASSES: u64 = 512 / ALIGNMENT;
/// How much is read at a time: a whole number of pools.
const PIECE: u64 = 1 << 20;
/// Words of a set with a bit for each block of the largest pool.
const SET_WORDS: usize = (16 << 10) / ALIGNMENT as usize / 64;

/// Adds the blocks in use between two addresses, with the sizes of their classes.
pub(super) fn list<M: ReadMemory>(memory: &M, pool_size: u64, range: (u64, u64), into: &mut Vec<(u64, u64)>) {
    let mut buffer = vec![0; PIECE as usize];
    let Some(mut at) = range.0.checked_next_multiple_of(pool_size) else { return };
    while let Some(left) = range.1.checked_sub(at).filter(|&left| left >= pool_size) {
        let wanted = (left - left % pool_size).min(PIECE);
        let filled = memory.read(at, &mut buffer[..wanted as usize]).min(wanted as usize);
        for (start, bytes) in
            (at..).step_by(pool_size as usize).zip(buffer[..filled].chunks_exact(pool_size as usize))
        {
            Pool { start, bytes }.list(into);
        }
        // A hole costs one pool, not the whole piece.
        at += (filled as u64 - filled as u64 % pool_size).max(pool_size);
    }
}

struct Pool<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl Pool<'_> {
    fn list(&self, into: &mut Vec<(u64, u64)>) {
        let Some((size, touched)) = self.shape() else { return };
        let free = self.free_blocks(size, touched);
        let in_use = (0..touched).filter(|&block| free[block as usize / 64] >> (block % 64) & 1 == 0);
        into.extend(in_use.map(|block| (self.start + HEADER + block * size, size)));
    }

    /// The size of its blocks, and how many of them were ever in use; `None` where it is no pool, or all of it is free.
    fn shape(&self) -> Option<(u64, u64)> {
        let length = self.bytes.len() as u64;
        let (count, class) = (self.field(0), self.field(36));
        let (untouched, last) = (self.field(40), self.field(44));
        let size = (class + 1) * ALIGNMENT;
        let blocks = (length - HEADER) / size;
        let is_sound = class < CLASSES && last == length - size && (1..=blocks).contains(&count);
        let touched = untouched.checked_sub(HEADER)?;
        (is_sound && touched.is_multiple_of(size)).then_some((size, (touched / size).min(blocks)))
    }

    /// The list of free blocks, as a set. It ends where it leads out of the pool, or to a block a second time.
    fn free_blocks(&self, size: u64, touched: u64) -> [u64; SET_WORDS] {
        let mut free = [0; SET_WORDS];
        let mut next = self.word(8);
        while let Some(block) = self.block_at(next, size).filter(|&block| block < touched) {
            let (word, bit) = (&mut free[block as usize / 64], 1 << (block % 64));
            if *word & bit != 0 {
                break;
            }
            *word |= bit;
            next = self.word((next - self.start) as usize);
        }
        free
    }

    fn block_at(&self, address: u64, size: u64) -> Option<u64> {
        let offset = address.checked_sub(self.start)?.checked_sub(HEADER)?;
        let is_inside = offset < self.bytes.len() as u64 && offset + HEADER + size <= self.bytes.len() as u64;
        (is_inside && offset.is_multiple_of(size)).then_some(offset / size)
    }

    fn field(&self, at: usize) -> u64 {
        let bytes = self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)))
    }

    fn word(&self, at: usize) -> u64 {
        let bytes = self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
}
