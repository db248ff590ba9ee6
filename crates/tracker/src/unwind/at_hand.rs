//! What a thread keeps at hand: the rules of the code that it runs through, and the sites of the stacks that it allocates from.
//!
//! The shared tables are megabytes, whose lines the program's own work drives out of the caches: half of the time of an event
//! in a TensorFlow step went into waiting for them. These tables are small, one thread's, and hold what a loop needs again and
//! again. They begin with a page and grow with what is looked for in vain, so that a thread that does little costs little.

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

/// Rules that may stand in the place of one: what another address drove out of a table comes back with the next turn of a
/// loop, and a miss of the shared tables with it. Bounded by a line of the caches.
const RULES: usize = 2;
/// Sites that may stand in the place of one.
const SITES: usize = 4;

/// How often a thread uses another's site, with atomic additions, before it gets its own for the same stack.
const PATIENCE: u32 = 64;
/// So many sites a thread gets in this way, at most: 64 KiB.
const MOST_OWN: u32 = 1024;

/// A rule that this thread used.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct KeptRule {
    address: u64,
    rule: u64,
}

/// The newest first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct RulesOfPlace([KeptRule; RULES]);

impl RulesOfPlace {
    const EMPTY: Self = Self([KeptRule { address: 0, rule: 0 }; RULES]);

    /// The one that it is, if it is any of them. Chosen without a branch: nobody could foretell it.
    #[inline(always)]
    fn choose(&self, address: u64) -> &KeptRule {
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
    pub patience: u32,
}

/// The newest first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct SitesOfPlace([KeptSite; SITES]);

impl SitesOfPlace {
    const EMPTY: Self = Self([KeptSite { hash: 0, site: 0, patience: 0 }; SITES]);

    /// As `RulesOfPlace::choose`.
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

/// How much of a table is in use. Zero is a new one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Reach {
    doublings: u32,
    misses: u32,
}

impl Reach {
    #[inline(always)]
    fn bits(self) -> u32 {
        FIRST_BITS + self.doublings
    }

    #[inline(always)]
    fn place(self, hash: u64, in_one: usize) -> usize {
        hash as usize & ((1 << self.bits()) / in_one - 1)
    }

    /// Something was not found. What a table held before it doubled is found where its place is the same, else missed once.
    #[inline(always)]
    fn miss(&mut self, most: u32) {
        self.misses = self.misses.wrapping_add(1);
        if self.misses >> self.bits() >= MISSES_PER_ENTRY && self.bits() < most {
            *self = Self { doublings: self.doublings + 1, misses: 0 };
        }
    }
}

/// Rules and sites at hand. Zero pages are empty tables.
#[repr(C)]
pub struct AtHand {
    rules_in_use: Reach,
    sites_in_use: Reach,
    /// Sites that the thread got for stacks that had one of another thread.
    own: u32,
    /// Bytes that were told to be resident.
    told: usize,
    rules: [RulesOfPlace; (1 << RULE_BITS) / RULES],
    sites: [SitesOfPlace; (1 << SITE_BITS) / SITES],
}

impl AtHand {
    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.own = 0;
        let used = (1 << self.sites_in_use.bits()) / SITES;
        self.sites[..used].fill(SitesOfPlace::EMPTY);
        self.forget_rules();
    }

    /// Forgets the rules: a library was unloaded.
    pub fn forget_rules(&mut self) {
        let used = (1 << self.rules_in_use.bits()) / RULES;
        self.rules[..used].fill(RulesOfPlace::EMPTY);
    }

    /// Bytes that are resident since this was asked last.
    #[inline(always)]
    pub fn newly_resident(&mut self) -> u64 {
        let rules = size_of::<KeptRule>() << self.rules_in_use.bits();
        let sites = size_of::<KeptSite>() << self.sites_in_use.bits();
        let grown = rules + sites - self.told;
        self.told = rules + sites;
        grown as u64
    }

    /// The rule of an address, from here or from the cache that all threads share.
    #[inline(always)]
    pub fn rule(&mut self, unwinder: &Unwinder, arena: &Arena, address: u64) -> Rule {
        let mixed = address ^ address >> 9;
        // SAFETY: a place is below what `miss` lets the table grow to.
        let kept = unsafe { self.rules.get_unchecked(self.rules_in_use.place(mixed, RULES)) }.choose(address);
        if kept.address == address {
            return Rule::from_raw(kept.rule);
        }
        let rule = unwinder.rule(arena, address);
        self.rules_in_use.miss(RULE_BITS);
        let place = self.rules_in_use.place(mixed, RULES);
        self.rules[place].keep(KeptRule { address, rule: rule.raw() });
        rule
    }

    /// The site of the stack with this hash, if this thread used it lately.
    #[inline(always)]
    pub fn site(&mut self, hash: u64) -> Option<&mut KeptSite> {
        let place = self.sites_in_use.place(hash >> 20, SITES);
        // SAFETY: a place is below what `miss` lets the table grow to.
        let kept = unsafe { self.sites.get_unchecked_mut(place) }.choose(hash);
        (kept.hash == hash).then_some(kept)
    }

    /// Keeps the site of a stack.
    pub fn keep_site(&mut self, hash: u64, site: u32, is_others: bool) {
        let patience = if is_others && self.own < MOST_OWN { PATIENCE } else { 0 };
        self.sites_in_use.miss(SITE_BITS);
        let place = self.sites_in_use.place(hash >> 20, SITES);
        self.sites[place].keep(KeptSite { hash, site, patience });
    }

    /// Puts the thread's own site in the place of another's.
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

    fn empty() -> Box<AtHand> {
        // SAFETY: every field is a number, for which zero is a value.
        unsafe { Box::<AtHand>::new_zeroed().assume_init() }
    }

    /// Hashes as the trie makes them: all bits count.
    fn hash(number: u64) -> u64 {
        crate::tables::trie::extend_hash(crate::tables::trie::ROOT_HASH, number)
    }

    #[test]
    fn a_loop_over_many_stacks_finds_them_all_after_some_rounds() {
        let mut at_hand = empty();
        let round = |at_hand: &mut AtHand| {
            let mut found = 0;
            for number in 1..=2000u32 {
                match at_hand.site(hash(number.into())) {
                    Some(kept) => {
                        assert_eq!(kept.site, number);
                        found += 1;
                    }
                    None => at_hand.keep_site(hash(number.into()), number, false),
                }
            }
            found
        };
        assert_eq!(round(&mut at_hand), 0);
        let found = (0..100).map(|_| round(&mut at_hand)).max();
        assert!(found > Some(1900), "{found:?}");
    }

    #[test]
    fn a_thread_with_few_stacks_keeps_one_page_for_them() {
        let mut at_hand = empty();
        assert_eq!(at_hand.newly_resident(), 2 * 4096);
        for _ in 0..1000 {
            for number in 1..=4u32 {
                if at_hand.site(hash(number.into())).is_none() {
                    at_hand.keep_site(hash(number.into()), number, false);
                }
            }
        }
        assert_eq!(at_hand.newly_resident(), 0);
    }

    #[test]
    fn own_sites_for_others_stacks_are_bounded() {
        let mut at_hand = empty();
        let mut got = 0;
        for number in 1..=5000u32 {
            at_hand.keep_site(hash(number.into()), number, true);
            let kept = at_hand.site(hash(number.into())).unwrap();
            if kept.patience != 0 {
                assert_eq!(kept.patience, PATIENCE);
                at_hand.keep_own_site(hash(number.into()), 10_000 + number);
                assert_eq!(at_hand.site(hash(number.into())).unwrap().site, 10_000 + number);
                got += 1;
            }
        }
        assert_eq!(got, MOST_OWN);
    }
}
