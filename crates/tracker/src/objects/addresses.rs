//! A small set of addresses whose `free` is to be noticed: buckets of four words, each of which stands for itself, so that
//! threads of several interpreters may change it at once. Whatever is in the set is in the filter, too, which is what every
//! `free` checks. The set never grows: a full bucket drops one address for the next.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Addr;

use crate::tables::filter::Filter;

/// Addresses in one bucket.
const IN_ONE: usize = 4;

/// The set; `BUCKETS` is a power of two.
#[derive(Debug)]
pub struct Addresses<const BUCKETS: usize> {
    buckets: [[AtomicU64; IN_ONE]; BUCKETS],
}

impl<const BUCKETS: usize> Addresses<BUCKETS> {
    /// An empty set.
    pub const fn new() -> Self {
        const { assert!(BUCKETS.is_power_of_two() && BUCKETS > 1) };
        Self { buckets: [const { [const { AtomicU64::new(0) }; IN_ONE] }; BUCKETS] }
    }

    /// Adds an address; the answer is the one that had to go for it.
    pub fn insert(&self, addr: Addr, filter: &Filter) -> Option<Addr> {
        let bucket = self.bucket(addr);
        if bucket.iter().any(|word| word.load(Relaxed) == addr.get()) {
            return None;
        }
        filter.add(addr);
        if bucket.iter().any(|word| word.compare_exchange(0, addr.get(), Relaxed, Relaxed).is_ok()) {
            return None;
        }
        let dropped = Addr::new(bucket[(addr.get() >> 4) as usize % IN_ONE].swap(addr.get(), Relaxed));
        if dropped.get() != 0 {
            filter.remove(dropped);
        }
        Some(dropped)
    }

    /// Takes an address out; whether it was there. Zero, which is freed as well, is the mark of an empty place.
    pub fn remove(&self, addr: Addr, filter: &Filter) -> bool {
        let mut was_there = false;
        if addr.get() == 0 {
            return was_there;
        }
        for word in self.bucket(addr) {
            if word.load(Relaxed) == addr.get()
                && word.compare_exchange(addr.get(), 0, Relaxed, Relaxed).is_ok()
            {
                filter.remove(addr);
                was_there = true;
            }
        }
        was_there
    }

    /// Empties the set, but not the filter; whether anything was in it.
    pub fn clear(&self) -> bool {
        let words = self.buckets.iter().flatten().filter(|word| word.load(Relaxed) != 0);
        words.map(|word| word.store(0, Relaxed)).count() != 0
    }

    fn bucket(&self, addr: Addr) -> &[AtomicU64; IN_ONE] {
        let hash = (addr.get() >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.buckets[(hash >> (64 - BUCKETS.trailing_zeros())) as usize]
    }

    /// Addresses that share a bucket.
    #[cfg(test)]
    pub(super) fn in_one_bucket(&self) -> impl Iterator<Item = u64> {
        let bucket = |addr: u64| core::ptr::from_ref(self.bucket(Addr::new(addr)));
        (1u64..).map(|n| n * 16).filter(move |&addr| bucket(addr) == bucket(16))
    }
}

impl<const BUCKETS: usize> Default for Addresses<BUCKETS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn an_address_of_zero_is_never_there() {
        let (set, filter) = (Addresses::<64>::new(), Filter::new());
        assert!(!set.remove(Addr::new(0), &filter), "an empty place is not an address");
        let other = Addr::new(16);
        set.insert(other, &filter);
        assert!(!set.remove(Addr::new(0), &filter) && filter.may_hold(other));
    }

    #[test]
    fn a_full_bucket_drops_one_address_and_says_which() {
        let (set, filter) = (Addresses::<64>::new(), Filter::new());
        let addresses: Vec<Addr> = set.in_one_bucket().take(IN_ONE + 1).map(Addr::new).collect();
        let (last, first) = addresses.split_last().unwrap();
        assert!(first.iter().all(|&addr| set.insert(addr, &filter).is_none()));
        assert!(first.iter().all(|&addr| set.insert(addr, &filter).is_none()), "they are there already");
        let dropped = set.insert(*last, &filter).unwrap();
        assert!(!set.remove(dropped, &filter));
        let kept = addresses.iter().filter(|&&addr| addr != dropped);
        assert!(kept.clone().all(|&addr| filter.may_hold(addr) && set.remove(addr, &filter)));
        assert!(!addresses.iter().any(|&addr| filter.may_hold(addr)), "each was counted once");
        assert!(!set.clear());
    }
}
