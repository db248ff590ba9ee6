//! A small counting filter: says of most addresses that they are surely not in a table, from 64 KiB instead of a miss in
//! the table itself.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Addr;
use heaplens_format::atomic::AtomicU8;

/// log2 of the counters.
const BITS: u32 = 16;

/// How many entries of a table have this hash; 255 stays.
#[derive(Debug)]
pub struct Filter {
    counters: [AtomicU8; 1 << BITS],
}

impl Default for Filter {
    fn default() -> Self {
        Self::new()
    }
}

impl Filter {
    /// Of an empty table.
    pub const fn new() -> Self {
        Self { counters: [const { AtomicU8::new(0) }; 1 << BITS] }
    }

    /// The table was emptied.
    pub fn clear(&self) {
        self.counters.iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// Whether the address can be in the table.
    #[inline(always)]
    pub fn may_hold(&self, addr: Addr) -> bool {
        self.counter(addr).load(Relaxed) != 0
    }

    /// An entry came.
    pub fn add(&self, addr: Addr) {
        self.change(addr, 1);
    }

    /// An entry went.
    pub fn remove(&self, addr: Addr) {
        self.change(addr, -1);
    }

    #[cold]
    fn change(&self, addr: Addr, by: i8) {
        let counted = |count: u8| if count == u8::MAX { None } else { count.checked_add_signed(by) };
        let _ = self.counter(addr).fetch_update(Relaxed, Relaxed, counted);
    }

    #[inline(always)]
    fn counter(&self, addr: Addr) -> &AtomicU8 {
        let hash = (addr.get() >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS);
        &self.counters[hash as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_never_denied_and_what_went_soon_is() {
        let filter = Filter::new();
        let addr = |number: u64| Addr::new(0x7000_0000_0000 + number * 16);
        (0..4000).for_each(|number| filter.add(addr(number)));
        assert!((0..4000).all(|number| filter.may_hold(addr(number))));
        assert!((4000..8000).filter(|&number| filter.may_hold(addr(number))).count() < 1000);
        (0..4000).for_each(|number| filter.remove(addr(number)));
        assert!((0..8000).all(|number| !filter.may_hold(addr(number))));
    }
}
