//! Of the other names of stacks, one bit each: a stack that is new has none, and one read of 64 KiB says so, where the index
//! would be a miss of the caches. Most stacks of an import are new.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::atomic::AtomicU64;

/// log2 of the bits of [`Names`].
const NAME_BITS: u32 = if cfg!(feature = "interleave") { 6 } else { 19 };

/// The bits.
#[derive(Debug)]
pub struct Names([AtomicU64; 1 << (NAME_BITS - 6)]);

impl Names {
    /// There are none.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 1 << (NAME_BITS - 6)])
    }

    /// A stack got a name.
    pub fn add(&self, hash: u64) {
        let (word, bit) = self.bit(hash);
        word.fetch_or(bit, Relaxed);
    }

    /// Whether a name can have been given.
    #[inline(always)]
    pub fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = self.bit(hash);
        word.load(Relaxed) & bit != 0
    }

    #[inline(always)]
    fn bit(&self, hash: u64) -> (&AtomicU64, u64) {
        let at = hash >> (64 - NAME_BITS);
        (&self.0[(at >> 6) as usize], 1 << (at & 63))
    }

    /// The names are gone.
    pub fn clear(&self) {
        self.0.iter().for_each(|word| word.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::trie::{ROOT_HASH, extend_hash};

    #[test]
    fn a_name_that_was_given_is_never_denied_and_most_others_are() {
        let names = Names::new();
        let hash = |number: u64| extend_hash(ROOT_HASH, number);
        (0..20_000).for_each(|number| names.add(hash(number)));
        assert!((0..20_000).all(|number| names.may_hold(hash(number))));
        let mistaken = (20_000..40_000).filter(|&number| names.may_hold(hash(number))).count();
        assert!(mistaken < 1200, "{mistaken}"); // 20,000 of 524,288 bits: 4 %
        names.clear();
        assert!(!(0..20_000).any(|number| names.may_hold(hash(number))));
    }
}
