//! The stacks of recent frees, by address: of an error with a block that was freed, it says where that was. Bounded: a later free takes the
//! place of an earlier one with the same hash.
//!
//! ```text
//!   │ 63 … 28 what the hash leaves of the address │ 27 … 0 node + 1, 0 where there is none │
//! ```

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::atomic::AtomicU64;
use heaplens_format::{Addr, NodeId};

/// log2 of the entries.
const BITS: u32 = 17;
/// Blocks begin at multiples of eight bytes in 47 bits.
const ADDRESS_BITS: u32 = 44;
const NODE_BITS: u32 = 28;
/// Odd, so that multiplication is one-to-one modulo a power of two: hash and rest together are the address.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The table, all zero at first: it takes no memory where no free is noted.
#[derive(Debug)]
pub struct Frees {
    entries: [AtomicU64; 1 << BITS],
}

/// Those of this process. Not among the other tables: a megabyte between them would cost every event cache lines.
pub static FREES: Frees = Frees::new();

impl Default for Frees {
    fn default() -> Self {
        Self::new()
    }
}

impl Frees {
    /// An empty table.
    pub const fn new() -> Self {
        Self { entries: [const { AtomicU64::new(0) }; 1 << BITS] }
    }

    /// Forgets everything: the nodes of another arena mean nothing. Words that are zero are not written.
    pub fn clear(&self) {
        self.entries
            .iter()
            .filter(|entry| entry.load(Relaxed) != 0)
            .for_each(|entry| entry.store(0, Relaxed));
    }

    /// A block is freed at this stack.
    pub fn note(&self, addr: Addr, node: NodeId) {
        let (index, rest) = split(addr);
        self.entries[index].store((rest << NODE_BITS) | (u64::from(node.get()) + 1), Relaxed);
    }

    /// Where the block at this address was freed last.
    pub fn at(&self, addr: Addr) -> Option<NodeId> {
        let (index, rest) = split(addr);
        let entry = self.entries[index].load(Relaxed);
        let node = (entry & ((1 << NODE_BITS) - 1)).checked_sub(1)?;
        (entry >> NODE_BITS == rest).then(|| NodeId::new(node as u32))
    }
}

fn split(addr: Addr) -> (usize, u64) {
    let hash = (addr.get() >> 3).wrapping_mul(FACTOR) & ((1 << ADDRESS_BITS) - 1);
    let rest_bits = ADDRESS_BITS - BITS;
    ((hash >> rest_bits) as usize, hash & ((1 << rest_bits) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    #[test]
    fn a_free_is_found_by_its_address_alone() {
        let frees = Box::new(Frees::new());
        let addr = |number: u64| Addr::new(0x7f12_3450_0000 + number * 16);
        assert_eq!(frees.at(addr(0)), None);
        for number in 0..1000 {
            frees.note(addr(number), NodeId::new(number as u32));
        }
        let found = (0..1000).filter(|&number| frees.at(addr(number)) == Some(NodeId::new(number as u32)));
        assert!(found.count() > 980, "few addresses have one hash");
        for number in 1000..100_000 {
            assert_eq!(frees.at(addr(number)), None);
        }
        frees.clear();
        assert_eq!(frees.at(addr(7)), None);
    }
}
