//! The live samples of small objects: a bounded table, thinned whenever it fills.
//!
//! ```text
//!   interval N, table half full ─▶ interval 2N; every sample stays with probability p(2N)/p(N), and then weighs s/p(2N)
//! ```
//!
//! So at every moment each live object is in the table with probability p(N) = 1 − e^(−s/N), independently, whatever N was
//! when it was made, and thousands of samples remain.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use heaplens_format::arena::python::{OBJECT_SAMPLE_SIZE, OBJECT_SAMPLES};
use heaplens_format::{Addr, Bytes, SiteId};

use super::addresses::Addresses;
use super::watched::WatchedCodes;
use crate::process::clock::ticks;
use crate::tables::filter::Filter;
use crate::tables::sampling;

/// Where sampling begins.
pub const FIRST_INTERVAL: u64 = 4096;
const CAPACITY: usize = OBJECT_SAMPLES;
/// When it is thinned.
const MOST: u32 = CAPACITY as u32 / 2;
/// So many live samples are enough when many come and go.
const ENOUGH: u32 = CAPACITY as u32 / 8;
/// How many are many, between two doublings.
const MANY: u32 = 4 * CAPACITY as u32;
/// Buckets for iterators: a thread has a few nested loops.
const ITERATORS: usize = 1 << 8;
const PAGE: usize = 4096;
const ENTRIES_PER_PAGE: usize = PAGE / size_of::<SampleEntry>();
const PAGES: usize = CAPACITY / ENTRIES_PER_PAGE;
/// In place of a size: the sample is on its way out.
const GOES: u32 = u32::MAX;

/// A live object that is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where it is.
    pub addr: Addr,
    /// Who made it.
    pub site: SiteId,
    /// Its size.
    pub size: Bytes,
}

/// As `heaplens_format::arena::python::ObjectSample`: the recorder reads it, too.
#[derive(Debug)]
#[repr(C)]
struct SampleEntry {
    addr: AtomicU64,
    site: AtomicU32,
    size: AtomicU32,
}

const _: () = assert!(size_of::<SampleEntry>() == OBJECT_SAMPLE_SIZE);

impl SampleEntry {
    const fn new() -> Self {
        Self { addr: AtomicU64::new(0), site: AtomicU32::new(0), size: AtomicU32::new(0) }
    }
}

/// What thinning did to one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinned {
    /// It stays, with another weight.
    Stays,
    /// It goes.
    Goes,
}

/// The table. Changed by one thread at a time: objects are made and freed under the interpreter's lock; where there are
/// several such locks, who comes second goes without.
#[derive(Debug)]
pub struct Samples {
    busy: AtomicBool,
    interval: AtomicU64,
    live: AtomicU32,
    /// Samples that came since the interval was doubled.
    taken: AtomicU32,
    /// One bit for each page of `entries` that was written: how much of it is resident.
    touched: [AtomicU64; PAGES / 64],
    /// Code objects whose end is noticed.
    pub watched: WatchedCodes,
    /// Iterators of running loops, by their memory blocks.
    pub iterators: Addresses<ITERATORS>,
    /// Of the addresses in all three.
    pub filter: Filter,
    entries: [SampleEntry; CAPACITY],
}

impl Samples {
    /// An empty table, until it is reset. It is all zero, so that it takes no room in the library's file.
    pub const fn new() -> Self {
        Self {
            busy: AtomicBool::new(false),
            interval: AtomicU64::new(0),
            live: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            touched: [const { AtomicU64::new(0) }; PAGES / 64],
            watched: WatchedCodes::new(),
            iterators: Addresses::new(),
            filter: Filter::new(),
            entries: [const { SampleEntry::new() }; CAPACITY],
        }
    }

    /// Forgets everything: the arena was replaced. Objects are sampled no more densely than blocks are.
    pub fn reset(&self, interval_of_blocks: u64) {
        let has_samples = self.live.swap(0, Relaxed) != 0;
        if has_samples {
            self.entries.iter().for_each(|entry| entry.addr.store(0, Relaxed));
        }
        let (has_codes, has_iterators) = (self.watched.forget(), self.iterators.clear());
        if has_samples || has_codes || has_iterators {
            self.filter.clear();
        }
        self.interval.store(interval_of_blocks.max(FIRST_INTERVAL), Relaxed);
        self.taken.store(0, Relaxed);
        self.touched.iter().for_each(|pages| pages.store(0, Relaxed));
        self.busy.store(false, Relaxed);
    }

    /// Where the table is.
    pub fn table(&self) -> u64 {
        self.entries.as_ptr() as u64
    }

    /// Mean distance of samples.
    #[inline(always)]
    pub fn interval(&self) -> u64 {
        self.interval.load(Relaxed)
    }

    /// Whether a sample can be at an address: its entry in the table is not free.
    pub fn may_hold(&self, addr: Addr) -> bool {
        self.entries[home(addr)].addr.load(Relaxed) != 0
    }

    /// Whether `free` of objects is hooked.
    pub fn notices_ends(&self) -> bool {
        self.watched.generation() != 0
    }

    /// Notices when the iterator in this block is freed.
    pub fn watch_iterator(&self, block: Addr) {
        self.iterators.insert(block, &self.filter);
    }

    /// The table for this thread alone; `None` when another has it.
    pub fn alone(&self) -> Option<Alone<'_>> {
        // Acquire: what the last one wrote is seen.
        self.busy.compare_exchange(false, true, Acquire, Relaxed).ok().map(|_| Alone(self))
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self::new()
    }
}

/// Proof that nobody else changes the table.
#[derive(Debug)]
pub struct Alone<'a>(&'a Samples);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `alone`.
        self.0.busy.store(false, Release);
    }
}

impl Alone<'_> {
    /// Puts a sample in. The answer is the one that stood at its address, whose end was not seen.
    pub fn insert(&self, sample: Sample) -> Option<Sample> {
        let old = self.remove(sample.addr);
        let mut at = home(sample.addr);
        while self.entry(at).addr.load(Relaxed) != 0 {
            at += 1; // there is a free one: the table is thinned when half of it is taken
        }
        self.write(at, sample);
        self.0.live.fetch_add(1, Relaxed);
        self.0.taken.fetch_add(1, Relaxed);
        self.0.filter.add(sample.addr);
        old
    }

    /// Bytes that became resident with the sample at this address, which was just put in.
    pub fn newly_resident(&self, addr: Addr) -> u64 {
        let page = home(addr) / ENTRIES_PER_PAGE;
        let bit = 1 << (page % 64);
        if self.0.touched[page / 64].fetch_or(bit, Relaxed) & bit == 0 { PAGE as u64 } else { 0 }
    }

    /// Takes a sample out.
    pub fn remove(&self, addr: Addr) -> Option<Sample> {
        let mut at = home(addr);
        loop {
            let sample = self.read(at)?;
            if sample.addr == addr {
                self.close_gap(at);
                self.0.live.fetch_sub(1, Relaxed);
                self.0.filter.remove(addr);
                return Some(sample);
            }
            at += 1;
        }
    }

    /// Whether it is time to thin: the table is half full, or samples come so fast that their number costs more than what
    /// stays of them is worth.
    pub fn is_full(&self) -> bool {
        let (live, taken) = (self.0.live.load(Relaxed), self.0.taken.load(Relaxed));
        live >= MOST || (live >= ENOUGH && taken >= MANY)
    }

    /// Doubles the interval. `on_each` is called with what becomes of every sample; the intervals are the old and the new one.
    pub fn thin(&self, mut on_each: impl FnMut(Sample, Thinned, u64, u64)) {
        let old = self.0.interval.load(Relaxed);
        let new = old * 2;
        let mut chance = Chance(ticks());
        for at in 0..CAPACITY {
            let Some(sample) = self.read(at) else { continue };
            if chance.stays(sample.size, old, new) {
                on_each(sample, Thinned::Stays, old, new);
            } else {
                on_each(sample, Thinned::Goes, old, new);
                self.entry(at).size.store(GOES, Relaxed);
            }
        }
        // Afterwards, since removing moves entries: none may be met twice, or never.
        for at in 0..CAPACITY {
            while let Some(sample) = self.read(at).filter(|sample| sample.size.get() == u64::from(GOES)) {
                self.remove(sample.addr);
            }
        }
        self.0.interval.store(new, Relaxed);
        self.0.taken.store(0, Relaxed);
    }

    /// Moves entries back that had to step over the freed one.
    fn close_gap(&self, mut gap: usize) {
        let mut at = gap;
        loop {
            at += 1;
            let Some(sample) = self.read(at) else { break };
            let (from_home, from_gap) = (distance(home(sample.addr), at), distance(gap, at));
            if from_home >= from_gap {
                self.write(gap, sample);
                gap = at;
            }
        }
        self.entry(gap).addr.store(0, Relaxed);
    }

    fn read(&self, at: usize) -> Option<Sample> {
        let entry = self.entry(at);
        let addr = entry.addr.load(Relaxed);
        (addr != 0).then(|| Sample {
            addr: Addr::new(addr),
            site: SiteId::new(entry.site.load(Relaxed)),
            size: Bytes::new(u64::from(entry.size.load(Relaxed))),
        })
    }

    fn write(&self, at: usize, sample: Sample) {
        let entry = self.entry(at);
        entry.site.store(sample.site.get(), Relaxed);
        entry.size.store(sample.size.get() as u32, Relaxed);
        entry.addr.store(sample.addr.get(), Relaxed);
    }

    fn entry(&self, at: usize) -> &SampleEntry {
        &self.0.entries[at & (CAPACITY - 1)]
    }
}

fn home(addr: Addr) -> usize {
    ((addr.get() >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CAPACITY.trailing_zeros())) as usize
}

fn distance(from: usize, to: usize) -> usize {
    to.wrapping_sub(from) & (CAPACITY - 1)
}

/// Independent decisions.
#[derive(Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// Whether what was sampled with one interval stays with a larger one.
    pub fn stays(&mut self, size: Bytes, old: u64, new: u64) -> bool {
        let ratio = sampling::probability(size, new) / sampling::probability(size, old);
        self.uniform() < ratio
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (sampling::mix(self.0) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::collections::HashMap;
    use std::vec::Vec;

    fn table() -> Box<Samples> {
        // SAFETY: zero is a value of all its words; the interval is set below.
        let samples: Box<Samples> = unsafe { Box::new_zeroed().assume_init() };
        samples.reset(0);
        samples
    }

    fn sample(slot: u64, site: u32) -> Sample {
        Sample {
            addr: Addr::new(0x7000_0000_0000 + slot * 16),
            site: SiteId::new(site),
            size: Bytes::new(48),
        }
    }

    proptest! {
        /// The naive model is a map.
        #[test]
        fn the_table_equals_a_map(events in prop::collection::vec((0u64..500, any::<bool>(), 1u32..9), 1..2000)) {
            let samples = table();
            let alone = samples.alone().unwrap();
            let mut model = HashMap::new();
            for (slot, is_insert, site) in events {
                if is_insert {
                    prop_assert_eq!(alone.insert(sample(slot, site)), model.insert(slot, sample(slot, site)));
                } else {
                    prop_assert_eq!(alone.remove(sample(slot, 1).addr), model.remove(&slot));
                }
            }
            for slot in 0..500 {
                prop_assert_eq!(alone.remove(sample(slot, 1).addr), model.remove(&slot));
            }
        }
    }

    #[test]
    fn thinning_visits_every_sample_once_and_keeps_the_rest_where_it_was() {
        let samples = table();
        let alone = samples.alone().unwrap();
        (0..u64::from(MOST)).for_each(|slot| assert_eq!(alone.insert(sample(slot * 7, 1)), None));
        assert!(alone.is_full());
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        alone.thin(|sample, fate, old, new| {
            assert_eq!((old, new), (FIRST_INTERVAL, 2 * FIRST_INTERVAL));
            match fate {
                Thinned::Stays => stay.push(sample.addr.get()),
                Thinned::Goes => go.push(sample.addr.get()),
            }
        });
        assert_eq!(samples.interval(), 2 * FIRST_INTERVAL);
        let mut all: Vec<u64> = stay.iter().chain(&go).copied().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), MOST as usize);
        assert_eq!(stay.len() + go.len(), MOST as usize, "each is met once");
        // 48 of 4096 bytes: nearly a half stays. Six standard deviations.
        assert!(stay.len().abs_diff(MOST as usize / 2) < 400, "{}", stay.len());
        assert!(stay.iter().all(|&addr| alone.remove(Addr::new(addr)).is_some()));
        assert!(go.iter().all(|&addr| alone.remove(Addr::new(addr)).is_none()));
    }

    #[test]
    fn a_page_of_the_table_is_told_once() {
        let samples = table();
        let alone = samples.alone().unwrap();
        let reported = (0..u64::from(MOST)).map(|slot| {
            alone.insert(sample(slot * 7, 1));
            alone.newly_resident(sample(slot * 7, 1).addr)
        });
        assert_eq!(reported.sum::<u64>(), (PAGES * PAGE) as u64, "so many samples are on every page");
    }

    #[test]
    fn the_table_belongs_to_one_thread_at_a_time() {
        let samples = table();
        let alone = samples.alone();
        assert!(alone.is_some() && samples.alone().is_none());
        drop(alone);
        assert!(samples.alone().is_some());
    }
}
