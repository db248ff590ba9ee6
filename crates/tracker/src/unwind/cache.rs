//! The rule of a code address: a cache over the unwind tables, shared by all threads without a lock.
//!
//! An entry is two words, the rule and `rule ^ address`: a reader that catches a writer between the two stores sees an
//! address that does not fit and takes the slow path. A `dlclose` empties the cache and raises the generation, which also
//! drops what every thread remembers of its last stack.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::Addr;
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::cfi;
use super::rule::Rule;
use crate::modules::Modules;
use crate::tables::arena::Arena;

const BITS: u32 = 16;
const ENTRIES: usize = 1 << BITS;
const ENTRIES_PER_PAGE: usize = 4096 / size_of::<CachedRule>();

#[derive(Debug)]
#[repr(C, align(16))]
struct CachedRule {
    check: AtomicU64,
    rule: AtomicU64,
}

/// Rules and modules of this process.
#[derive(Debug)]
pub struct Unwinder {
    generation: AtomicU32,
    /// The dynamic linker freed something: a library may be gone without a `dlclose` that we saw.
    suspects: AtomicBool,
    entries: [CachedRule; ENTRIES],
    /// One bit for each page of `entries` that was written: how much of it is resident.
    touched: [AtomicU64; ENTRIES / ENTRIES_PER_PAGE / 64],
    /// The modules.
    pub modules: Modules,
}

impl Unwinder {
    /// Nothing is known yet.
    pub const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            suspects: AtomicBool::new(false),
            entries: [const { CachedRule { check: AtomicU64::new(0), rule: AtomicU64::new(0) } }; ENTRIES],
            touched: [const { AtomicU64::new(0) }; ENTRIES / ENTRIES_PER_PAGE / 64],
            modules: Modules::new(),
        }
    }

    /// Raised whenever what was known may be wrong.
    #[inline(always)]
    pub fn generation(&self) -> u32 {
        // Acquire: pairs with the Release in `forget`, after which no old rule is found.
        self.generation.load(Acquire)
    }

    /// The dynamic linker freed something. libc unloads libraries of its own (character sets, name services) without
    /// `dlclose`; what the linker knew of them it frees.
    pub fn suspect_unload(&self) {
        self.suspects.store(true, Relaxed);
    }

    /// Checks whether a library is gone, if there is reason to. Before every capture.
    #[inline(always)]
    pub fn check_suspicion(&self) {
        if self.suspects.load(Relaxed) {
            self.look_for_unloads();
        }
    }

    #[cold]
    #[inline(never)]
    fn look_for_unloads(&self) {
        self.suspects.store(false, Relaxed);
        if self.modules.any_has_left() {
            self.on_unload();
        }
    }

    /// A library was unloaded.
    pub fn on_unload(&self) {
        self.modules.doubt();
        self.forget();
    }

    /// The arena was replaced: module numbers begin anew, and so must the rules that carry them.
    pub fn reset(&self) {
        self.modules.reset();
        self.forget();
    }

    fn forget(&self) {
        for (page, entries) in self.entries.chunks(ENTRIES_PER_PAGE).enumerate() {
            if self.touched[page / 64].load(Relaxed) >> (page % 64) & 1 == 1 {
                entries.iter().for_each(|entry| entry.check.store(0, Relaxed));
            }
        }
        self.generation.fetch_add(1, Release);
    }

    /// The rule of the code at an address.
    #[inline(always)]
    pub fn rule(&self, arena: &Arena, address: Addr) -> Rule {
        let entry = &self.entries[Self::slot(address)];
        let rule = entry.rule.load(Relaxed);
        if entry.check.load(Relaxed) ^ rule == address.get() {
            return Rule::from_raw(rule);
        }
        self.look_up(arena, address)
    }

    #[inline(always)]
    fn slot(address: Addr) -> usize {
        (address.get() ^ address.get() >> 20) as usize & (ENTRIES - 1)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self, arena: &Arena, address: Addr) -> Rule {
        let generation = self.generation();
        let rule = self.compute(arena, address);
        if generation == self.generation() {
            self.keep(arena, address, rule);
        }
        rule
    }

    fn compute(&self, arena: &Arena, address: Addr) -> Rule {
        let Some(found) = self.modules.find(arena, address) else { return Rule::UNKNOWN };
        let Some(module) = found.number else { return Rule::UNKNOWN };
        let rule = cfi::rule_at(found.segment, found.unwind_header, address);
        rule.unwrap_or(Rule::UNKNOWN).in_module(module)
    }

    fn keep(&self, arena: &Arena, address: Addr, rule: Rule) {
        let slot = Self::slot(address);
        let entry = &self.entries[slot];
        entry.rule.store(rule.raw(), Relaxed);
        entry.check.store(rule.raw() ^ address.get(), Relaxed);
        let page = slot / ENTRIES_PER_PAGE;
        let bit = 1 << (page % 64);
        if self.touched[page / 64].fetch_or(bit, Relaxed) & bit == 0 {
            arena.header().private_bytes.fetch_add(4096, Relaxed);
        }
    }
}

impl Default for Unwinder {
    fn default() -> Self {
        Self::new()
    }
}
