//! The quarantine: blocks that the program freed and that are not given back to the allocator yet. They are filled with a pattern, and a
//! change of it is a write after free. The first that came is the first to go, when more bytes or blocks come than may stay.
//!
//! Who finds the lock taken goes without: it frees its block at once. So a signal handler, or a forked child whose parent's other thread
//! held it, waits for nobody.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64};

use heaplens_format::{Addr, Bytes, SiteId};

use crate::sys;
use crate::tables::blocks::Block;

/// The most blocks at a time.
const CAPACITY: usize = 1 << 18;
/// How often the lock is tried.
const SPINS: usize = 2000;
/// The most blocks that leave for one that comes.
pub const MOST_LEAVING: usize = 2;

/// A block that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Where it begins.
    pub addr: Addr,
    /// What it was.
    pub block: Block,
    /// The site of the stack that freed it.
    pub freed: Option<SiteId>,
}

/// In place of the address of a block that was taken out.
const GONE: Addr = Addr::new(0);

impl Freed {
    fn is_there(&self) -> bool {
        self.addr != GONE
    }
}

/// What came of a block that was to stay.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    blocks: [Option<Freed>; MOST_LEAVING],
    count: usize,
    /// Whether the new one stays.
    pub is_kept: bool,
}

impl Leaving {
    const NONE: Self = Self { blocks: [None; MOST_LEAVING], count: 0, is_kept: false };

    /// Those that leave for it.
    pub fn blocks(&self) -> impl Iterator<Item = Freed> {
        self.blocks.into_iter().take(self.count).flatten().filter(Freed::is_there)
    }
}

/// The ring of blocks: `first` is the number of the oldest one, `next` that of the next to come.
#[derive(Debug)]
struct Ring {
    entries: *mut Freed,
    first: usize,
    next: usize,
    bytes: u64,
}

/// Blocks that were freed and are not given back yet.
#[derive(Debug)]
pub struct Quarantine {
    is_taken: AtomicBool,
    ring: UnsafeCell<Ring>,
    /// The most bytes; 0: there is none.
    limit: AtomicU64,
}

// SAFETY: the ring is only touched by who holds the lock.
unsafe impl Sync for Quarantine {}

impl Default for Quarantine {
    fn default() -> Self {
        Self::new()
    }
}

impl Quarantine {
    /// None yet.
    pub const fn new() -> Self {
        let ring = Ring { entries: core::ptr::null_mut(), first: 0, next: 0, bytes: 0 };
        Self { is_taken: AtomicBool::new(false), ring: UnsafeCell::new(ring), limit: AtomicU64::new(0) }
    }

    /// Begins anew, for at most so many bytes. What was there stays with the allocator as blocks in use. Only for a moment when nobody
    /// else can be at it: the start of a process.
    pub fn reset(&self, limit: Bytes) {
        // SAFETY: as the comment says.
        let ring = unsafe { &mut *self.ring.get() };
        if ring.entries.is_null() && limit != Bytes::ZERO {
            ring.entries = sys::private_pages(CAPACITY * size_of::<Freed>())
                .map_or(core::ptr::null_mut(), |at| at as *mut Freed);
        }
        (ring.first, ring.next, ring.bytes) = (0, 0, 0);
        self.is_taken.store(false, Relaxed);
        self.limit.store(if ring.entries.is_null() { 0 } else { limit.get() }, Relaxed);
    }

    /// Whether a block of this size may stay: a large one would drive out all others.
    pub fn takes(&self, size: Bytes) -> bool {
        let limit = self.limit.load(Relaxed);
        limit != 0 && size.get() <= limit / 4
    }

    /// Takes a block, which must be filled already.
    pub fn put(&self, freed: Freed) -> Leaving {
        let mut leaving = Leaving::NONE;
        let limit = self.limit.load(Relaxed);
        self.with_ring(|ring| {
            let cost = cost(&freed);
            while ring.next - ring.first >= CAPACITY || ring.bytes + cost > limit && ring.next > ring.first {
                if leaving.count == MOST_LEAVING {
                    return;
                }
                leaving.blocks[leaving.count] = ring.take();
                leaving.count += 1;
            }
            ring.put(freed);
            leaving.is_kept = true;
        });
        leaving
    }

    /// Takes a block out before its time; whether it was there.
    pub fn take_out(&self, addr: Addr) -> bool {
        let mut is_there = false;
        self.with_ring(|ring| {
            let found = (ring.first..ring.next).find(|&number| ring.at(number).addr == addr);
            is_there = found.is_some_and(|number| {
                ring.set(number, Freed { addr: GONE, ..ring.at(number) });
                true
            });
        });
        is_there
    }

    /// The block that begins at an address, where it is inside.
    pub fn find(&self, addr: Addr) -> Option<Freed> {
        let mut found = None;
        self.each(|freed| found = found.or((freed.addr == addr).then_some(freed)));
        found
    }

    /// What is inside, the oldest first; nothing where somebody else is at it. They stay.
    pub fn each(&self, mut action: impl FnMut(Freed)) {
        self.with_ring(|ring| {
            (ring.first..ring.next)
                .map(|number| ring.at(number))
                .filter(Freed::is_there)
                .for_each(&mut action);
        });
    }

    fn with_ring(&self, action: impl FnOnce(&mut Ring)) {
        if self.limit.load(Relaxed) == 0 {
            return;
        }
        for _ in 0..SPINS {
            // Acquire: pairs with the Release below.
            if self.is_taken.compare_exchange_weak(false, true, Acquire, Relaxed).is_ok() {
                // SAFETY: the lock is held.
                action(unsafe { &mut *self.ring.get() });
                self.is_taken.store(false, Release);
                return;
            }
            spin_loop();
        }
    }
}

impl Ring {
    fn at(&self, number: usize) -> Freed {
        // SAFETY: `reset` mapped CAPACITY entries, and those from `first` to `next` were written.
        unsafe { self.entries.add(number % CAPACITY).read() }
    }

    fn set(&mut self, number: usize, freed: Freed) {
        // SAFETY: as in `at`.
        unsafe { self.entries.add(number % CAPACITY).write(freed) };
    }

    fn put(&mut self, freed: Freed) {
        self.set(self.next, freed);
        self.next += 1;
        self.bytes += cost(&freed);
    }

    fn take(&mut self) -> Option<Freed> {
        let oldest = (self.first < self.next).then(|| self.at(self.first))?;
        self.first += 1;
        self.bytes -= cost(&oldest);
        Some(oldest)
    }
}

/// What a block counts: also one of no bytes takes some.
fn cost(freed: &Freed) -> u64 {
    freed.block.size.get() + 32
}

/// The word that a freed block is filled with.
fn pattern(block: usize) -> u64 {
    let mixed = (block as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 31) & 0x3f3f_3f3f_3f3f_3f3f | 0xc0c0_c0c0_c0c0_c0c0
}

/// Fills a block that was freed: the whole words that lie in its `length` bytes.
///
/// # Safety
/// The memory is a block that the program has given up; it begins at a multiple of 8.
pub unsafe fn fill(block: usize, length: usize) {
    let word = pattern(block);
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts_mut(block as *mut u64, length / 8) }.fill(word);
}

/// Whether a block that begins with this word may be a filled one.
pub fn is_pattern(block: usize, word: u64) -> bool {
    word == pattern(block)
}

/// The address of the first byte of a filled block that was changed since.
///
/// # Safety
/// As for [`fill`]; the block is not given back meanwhile.
pub unsafe fn first_change(block: usize, length: usize) -> Option<usize> {
    let word = pattern(block);
    // SAFETY: as the caller says.
    let words = unsafe { core::slice::from_raw_parts(block as *const u64, length / 8) };
    let index = words.iter().position(|&there| there != word)?;
    Some(block + index * 8 + (words[index] ^ word).trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::arena::Family;
    use std::vec;
    use std::vec::Vec;

    fn freed(number: u64, size: u64) -> Freed {
        let block = Block { site: SiteId::new(7), size: Bytes::new(size), family: Family::Malloc };
        Freed { addr: Addr::new(number * 4096 + 16), block, freed: Some(SiteId::new(3)) }
    }

    #[test]
    fn the_oldest_blocks_leave_when_more_bytes_come_than_may_stay() {
        let quarantine = Quarantine::new();
        quarantine.reset(Bytes::new(1000));
        for number in 0..3 {
            let leaving = quarantine.put(freed(number, 200));
            assert!(leaving.is_kept && leaving.blocks().next().is_none());
        }
        let leaving: Vec<_> = quarantine.put(freed(3, 240)).blocks().collect();
        assert_eq!(leaving, []);
        let leaving: Vec<_> = quarantine.put(freed(4, 230)).blocks().collect();
        assert_eq!(leaving, [freed(0, 200)]);
        let mut inside = Vec::new();
        quarantine.each(|freed| inside.push(freed.addr.get() / 4096));
        assert_eq!(inside, [1, 2, 3, 4]);
    }

    #[test]
    fn large_blocks_do_not_drive_out_all_others() {
        let quarantine = Quarantine::new();
        assert!(!quarantine.takes(Bytes::new(1)));
        quarantine.reset(Bytes::new(1000));
        assert!(quarantine.takes(Bytes::new(250)) && !quarantine.takes(Bytes::new(251)));
    }

    #[test]
    fn a_block_can_be_taken_out_once() {
        let quarantine = Quarantine::new();
        quarantine.reset(Bytes::new(1000));
        quarantine.put(freed(1, 10));
        quarantine.put(freed(2, 10));
        assert_eq!(quarantine.find(freed(2, 10).addr), Some(freed(2, 10)));
        assert!(quarantine.take_out(freed(1, 10).addr) && !quarantine.take_out(freed(1, 10).addr));
        let mut inside = Vec::new();
        quarantine.each(|freed| inside.push(freed.addr.get() / 4096));
        assert_eq!(inside, [2]);
        assert!(quarantine.put(freed(3, 950)).blocks().all(|freed| freed.addr.get() / 4096 == 2));
    }

    #[test]
    fn whoever_finds_it_taken_goes_without() {
        let quarantine = Quarantine::new();
        quarantine.reset(Bytes::new(1000));
        quarantine.is_taken.store(true, Relaxed);
        assert!(!quarantine.put(freed(1, 10)).is_kept);
        quarantine.reset(Bytes::new(1000));
        assert!(quarantine.put(freed(1, 10)).is_kept);
    }

    #[test]
    fn the_ring_holds_no_more_blocks_than_it_has_entries() {
        let quarantine = Quarantine::new();
        quarantine.reset(Bytes::new(u64::MAX / 2));
        for number in 0..CAPACITY as u64 {
            assert!(quarantine.put(freed(number, 0)).blocks().next().is_none());
        }
        let leaving: Vec<_> = quarantine.put(freed(9, 0)).blocks().collect();
        assert_eq!(leaving, [freed(0, 0)]);
    }

    #[test]
    fn a_change_of_a_filled_block_is_found_at_its_byte() {
        let mut memory = vec![0u64; 12];
        let block = memory.as_mut_ptr() as usize;
        // SAFETY: the memory has 96 bytes.
        unsafe {
            fill(block, 96);
            assert_eq!(first_change(block, 96), None);
            for offset in 0..96 {
                let at = (block + offset) as *mut u8;
                let before = at.read();
                at.write(0);
                assert_eq!(first_change(block, 96), Some(block + offset));
                at.write(before);
            }
        }
    }
}
