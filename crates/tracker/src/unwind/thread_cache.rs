//! The per-thread cache: the rules of the code that it runs through, and the sites of the stacks that it allocates from.
//!
//! The shared tables are megabytes, whose lines the program's own work drives out of the caches: half of the time of an event
//! in a TensorFlow step went into waiting for them. These tables are small, one thread's, and hold what a loop needs again and
//! again. They begin with a page and grow with misses, so that a thread that does little costs little.

use heaplens_format::Addr;

use super::cache::Unwinder;
use super::rule::Rule;
use crate::tables::arena::Arena;

/// log2 of the entries that a table begins with: one page.
const FIRST_BITS: u32 = 8;
/// log2 of the most rules.
const RULE_BITS: u32 = 13;
/// log2 of the most sites.
const SITE_BITS: u32 = 14;
/// A table doubles after so many misses for each of its entries.
const MISSES_PER_ENTRY: u32 = 2;

/// Rules in one bucket: what another address drove out of a table comes back with the next turn of a
/// loop, and a miss of the shared tables with it. Bounded by a line of the caches.
const RULES_PER_BUCKET: usize = 2;
/// Sites in one bucket.
const SITES_PER_BUCKET: usize = 4;

/// How often a thread uses another's site, with atomic additions, before it gets its own for the same stack.
const USES_OF_OTHERS: u32 = 64;
/// So many sites a thread gets in this way, at most: 64 KiB.
const MOST_OWN: u32 = 1024;

/// A rule that this thread used.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct KeptRule {
    address: Addr,
    rule: u64,
}

/// The newest first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct RuleBucket([KeptRule; RULES_PER_BUCKET]);

impl RuleBucket {
    const EMPTY: Self = Self([KeptRule { address: Addr::new(0), rule: 0 }; RULES_PER_BUCKET]);

    /// The one that it is, if it is any of them. Chosen without a branch: nobody could foretell it.
    #[inline(always)]
    fn choose(&self, address: Addr) -> &KeptRule {
        &self.0[usize::from(self.0[1].address == address)]
    }

    fn keep(&mut self, rule: KeptRule) {
        self.0 = [rule, self.0[0]];
    }
}

/// The site of a stack that this thread allocated from.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeptSite {
    hash: u64,
    /// The site.
    pub site: u32,
    /// While the site is another thread's: after so many more uses this one gets its own. 0: there is nothing to get.
    pub uses_left: u32,
}

/// The newest first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct SiteBucket([KeptSite; SITES_PER_BUCKET]);

impl SiteBucket {
    const EMPTY: Self = Self([KeptSite { hash: 0, site: 0, uses_left: 0 }; SITES_PER_BUCKET]);

    /// As `RuleBucket::choose`.
    #[inline(always)]
    fn choose(&mut self, hash: u64) -> &mut KeptSite {
        let is = |index: usize| usize::from(self.0[index].hash == hash);
        let index = is(1) | (is(2) << 1) | (is(3) * 3);
        &mut self.0[index]
    }

    fn keep(&mut self, site: KeptSite) {
        self.0 = [site, self.0[0], self.0[1], self.0[2]];
    }
}

/// How many entries of a table are in use. Zero is a new one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Capacity {
    doublings: u32,
    misses: u32,
}

impl Capacity {
    #[inline(always)]
    fn bits(self) -> u32 {
        FIRST_BITS + self.doublings
    }

    #[inline(always)]
    fn bucket(self, hash: u64, in_one: usize) -> usize {
        hash as usize & ((1 << self.bits()) / in_one - 1)
    }

    /// Something was not found. What a table held before it doubled is found where its bucket is the same, else missed once.
    #[inline(always)]
    fn miss(&mut self, most: u32) {
        self.misses = self.misses.wrapping_add(1);
        if self.misses >> self.bits() >= MISSES_PER_ENTRY && self.bits() < most {
            *self = Self { doublings: self.doublings + 1, misses: 0 };
        }
    }
}

/// The rules and sites of one thread. Zero pages are empty tables.
#[repr(C)]
pub struct ThreadCache {
    rules_in_use: Capacity,
    sites_in_use: Capacity,
    /// Sites that the thread got for stacks that had one of another thread.
    own: u32,
    /// Bytes that were reported to be resident.
    reported: usize,
    rules: [RuleBucket; (1 << RULE_BITS) / RULES_PER_BUCKET],
    sites: [SiteBucket; (1 << SITE_BITS) / SITES_PER_BUCKET],
}

impl ThreadCache {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.own = 0;
        let used = (1 << self.sites_in_use.bits()) / SITES_PER_BUCKET;
        self.sites[..used].fill(SiteBucket::EMPTY);
        self.forget_rules();
    }

    /// Forgets the rules: a library was unloaded.
    pub fn forget_rules(&mut self) {
        let used = (1 << self.rules_in_use.bits()) / RULES_PER_BUCKET;
        self.rules[..used].fill(RuleBucket::EMPTY);
    }

    /// Bytes that are resident since this was asked last.
    #[inline(always)]
    pub fn newly_resident(&mut self) -> u64 {
        let rules = size_of::<KeptRule>() << self.rules_in_use.bits();
        let sites = size_of::<KeptSite>() << self.sites_in_use.bits();
        let grown = rules + sites - self.reported;
        self.reported = rules + sites;
        grown as u64
    }

    /// The rule of an address, from here or from the cache that all threads share.
    #[inline(always)]
    pub fn rule(&mut self, unwinder: &Unwinder, arena: &Arena, address: Addr) -> Rule {
        let mixed = address.get() ^ address.get() >> 9;
        // SAFETY: a bucket is below what `miss` lets the table grow to.
        let kept = unsafe { self.rules.get_unchecked(self.rules_in_use.bucket(mixed, RULES_PER_BUCKET)) }
            .choose(address);
        if kept.address == address {
            return Rule::from_raw(kept.rule);
        }
        let rule = unwinder.rule(arena, address);
        self.rules_in_use.miss(RULE_BITS);
        let bucket = self.rules_in_use.bucket(mixed, RULES_PER_BUCKET);
        self.rules[bucket].keep(KeptRule { address, rule: rule.raw() });
        rule
    }

    /// The site of the stack with this hash, if this thread used it lately.
    #[inline(always)]
    pub fn site(&mut self, hash: u64) -> Option<&mut KeptSite> {
        let bucket = self.sites_in_use.bucket(hash >> 20, SITES_PER_BUCKET);
        // SAFETY: a bucket is below what `miss` lets the table grow to.
        let kept = unsafe { self.sites.get_unchecked_mut(bucket) }.choose(hash);
        (kept.hash == hash).then_some(kept)
    }

    /// Keeps the site of a stack.
    pub fn keep_site(&mut self, hash: u64, site: u32, is_others: bool) {
        let uses_left = if is_others && self.own < MOST_OWN { USES_OF_OTHERS } else { 0 };
        self.sites_in_use.miss(SITE_BITS);
        let bucket = self.sites_in_use.bucket(hash >> 20, SITES_PER_BUCKET);
        self.sites[bucket].keep(KeptSite { hash, site, uses_left });
    }

    /// Puts the thread's own site where another's was.
    pub fn keep_own_site(&mut self, hash: u64, site: u32) {
        self.own += 1;
        if let Some(kept) = self.site(hash) {
            kept.site = site;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    fn empty() -> Box<ThreadCache> {
        // SAFETY: every field is a number, for which zero is a value.
        unsafe { Box::<ThreadCache>::new_zeroed().assume_init() }
    }

    /// Hashes as the trie makes them: all bits count.
    fn hash(number: u64) -> u64 {
        crate::tables::trie::extend_hash(crate::tables::trie::ROOT_HASH, number)
    }

    #[test]
    fn a_loop_over_many_stacks_finds_them_all_after_some_rounds() {
        let mut cache = empty();
        let round = |cache: &mut ThreadCache| {
            let mut found = 0;
            for number in 1..=2000u32 {
                match cache.site(hash(number.into())) {
                    Some(kept) => {
                        assert_eq!(kept.site, number);
                        found += 1;
                    }
                    None => cache.keep_site(hash(number.into()), number, false),
                }
            }
            found
        };
        assert_eq!(round(&mut cache), 0);
        let found = (0..100).map(|_| round(&mut cache)).max();
        assert!(found > Some(1900), "{found:?}");
    }

    #[test]
    fn a_thread_with_few_stacks_keeps_one_page_for_them() {
        let mut cache = empty();
        assert_eq!(cache.newly_resident(), 2 * 4096);
        for _ in 0..1000 {
            for number in 1..=4u32 {
                if cache.site(hash(number.into())).is_none() {
                    cache.keep_site(hash(number.into()), number, false);
                }
            }
        }
        assert_eq!(cache.newly_resident(), 0);
    }

    #[test]
    fn own_sites_for_others_stacks_are_bounded() {
        let mut cache = empty();
        let mut got = 0;
        for number in 1..=5000u32 {
            cache.keep_site(hash(number.into()), number, true);
            let kept = cache.site(hash(number.into())).unwrap();
            if kept.uses_left != 0 {
                assert_eq!(kept.uses_left, USES_OF_OTHERS);
                cache.keep_own_site(hash(number.into()), 10_000 + number);
                assert_eq!(cache.site(hash(number.into())).unwrap().site, 10_000 + number);
                got += 1;
            }
        }
        assert_eq!(got, MOST_OWN);
    }
}
