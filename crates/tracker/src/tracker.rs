//! One event of the program, from the hook's guard to the tables.
//!
//! It owns the tables of this process and the order in which an event touches them. It never decides whether a real
//! function is called; that is the agent's.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::{Family, Pseudo};
use heaplens_format::memory::Allocator;
use heaplens_format::{Addr, Bytes, Loss};

use crate::lifecycle::start::{self as process, Life};
use crate::objects::samples::Samples;
use crate::process::clock::{Timer, stop_clock, ticks};
use crate::profiles::Profiles;
use crate::python::Python;
use crate::requests::answer::Requests;
use crate::sys;
use crate::tables::arena::Arena;
use crate::tables::blocks::{Block, Blocks};
use crate::tables::counters::Counters;
use crate::tables::mappings;
use crate::tables::marks::Marks;
use crate::tables::sampling;
use crate::tables::sites::{self, Tally, Weight};
use crate::tables::trie::Trie;
use crate::thread::thread_slot::{Guard, SeatId};
use crate::thread::work::Work;
use crate::unwind::{Caller, Unwinder, stacks};

/// The tables of this process.
#[derive(Debug)]
pub struct Tracker {
    /// The shared file.
    pub arena: Arena,
    /// Address → block.
    pub blocks: Blocks,
    /// Path → node.
    pub trie: Trie,
    /// Rules and modules.
    pub unwinder: Unwinder,
    /// The interpreter, where there is one.
    pub python: Python,
    /// Its small objects.
    pub samples: Samples,
    /// Moments that values are kept for.
    pub marks: Marks,
    /// What is asked for from outside.
    pub requests: Requests,
    /// What is counted besides.
    pub counters: Counters,
    /// Who made the operations that run.
    pub work: Work,
    /// Mean distance of samples; 0: exact.
    pub interval: AtomicU64,
    /// Those that the program writes itself.
    pub profiles: Profiles,
}

static TRACKER: Tracker = Tracker {
    arena: Arena::new(),
    blocks: Blocks::new(),
    trie: Trie::new(),
    unwinder: Unwinder::new(),
    python: Python::new(),
    samples: Samples::new(),
    marks: Marks::new(),
    requests: Requests::new(),
    counters: Counters::new(),
    work: Work::new(),
    interval: AtomicU64::new(0),
    profiles: Profiles::new(),
};

/// The tables of this process.
#[inline(always)]
pub fn tracker() -> &'static Tracker {
    &TRACKER
}

/// A block that `realloc` is about to move: out of the table, not yet counted as freed.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    addr: Addr,
    block: Block,
}

/// What a mapping is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingKind {
    /// Memory.
    Anonymous,
    /// A file.
    File,
    /// The program break.
    Break,
}

impl MappingKind {
    const fn pseudo(self) -> Pseudo {
        match self {
            Self::Anonymous => Pseudo::AnonymousMapping,
            Self::File => Pseudo::FileMapping,
            Self::Break => Pseudo::Break,
        }
    }
}

impl Tracker {
    /// Mean distance of samples; 0: exact.
    #[inline(always)]
    pub fn sample_interval(&self) -> u64 {
        self.interval.load(Relaxed)
    }

    /// Counts a loss, when there is an arena to count it in.
    pub fn lose(&self, loss: Loss) {
        if process::life() == Life::Recording {
            self.arena.lose(loss);
        }
    }

    /// A block was allocated.
    ///
    /// Benchmark: `cargo xtask bench`, pairs.
    #[inline]
    pub fn on_alloc(&self, guard: &Guard, addr: Addr, size: Bytes, family: Family, caller: Caller) {
        if !process::is_recording(guard) {
            return;
        }
        let interval = self.sample_interval();
        if interval == 0 || self.is_sampled(guard, size, interval) {
            let timer = Timer::start(guard);
            self.record_alloc(guard, addr, size, family, caller);
            if timer.stop(&self.arena) {
                self.answer_requests(guard, caller);
            }
            if self.profiles.is_on() {
                self.on_profiled_alloc(size);
            }
        }
    }

    /// A block is about to be freed.
    #[inline]
    pub fn on_free(&self, guard: &Guard, addr: Addr) {
        if !process::is_recording(guard) {
            return;
        }
        let timer = Timer::start(guard);
        match self.blocks.remove(&self.arena, addr) {
            Some(block) => self.count_free(guard, block),
            None => self.count_unknown_free(),
        }
        timer.stop(&self.arena);
    }

    /// Whether a block is surely not in the table, and its free needs nothing from us.
    #[inline(always)]
    pub fn surely_lacks(&self, addr: Addr) -> bool {
        process::is_quick() && self.blocks.surely_lacks(addr)
    }

    /// Takes back that a block was recorded, as if it had not been: it will be recorded again under another name.
    #[cold]
    pub fn forget(&self, guard: &Guard, addr: Addr) {
        if process::is_recording(guard)
            && let Some(block) = self.blocks.remove(&self.arena, addr)
        {
            sites::take_back(&self.arena, block.site, guard.seat_id(), self.weight(block.size));
        }
    }

    /// Takes a block out of the table before `realloc`: afterwards its address may belong to somebody else.
    pub fn before_realloc(&self, guard: &Guard, addr: Addr) -> Option<Claimed> {
        if !process::is_recording(guard) {
            return None;
        }
        let block = self.blocks.remove(&self.arena, addr);
        if block.is_none() {
            self.count_unknown_free();
        }
        block.map(|block| Claimed { addr, block })
    }

    /// `realloc` failed: the old block lives on.
    pub fn after_failed_realloc(&self, claimed: Option<Claimed>) {
        if let Some(Claimed { addr, block }) = claimed
            && self.blocks.insert(&self.arena, addr, block).is_err()
        {
            self.arena.lose(Loss::ArenaFull);
        }
    }

    /// `realloc` ended the old block; the new one is recorded by [`Tracker::on_alloc`].
    pub fn after_realloc(&self, guard: &Guard, claimed: Option<Claimed>) {
        if let Some(Claimed { block, .. }) = claimed {
            self.count_free(guard, block);
        }
    }

    /// The program mapped memory.
    pub fn on_map(&self, guard: &Guard, start: Addr, length: Bytes, kind: MappingKind, caller: Caller) {
        if process::is_recording(guard) {
            self.map_exactly(guard, start, page_round(length), kind, caller);
        }
    }

    /// The program raised its break: bytes, not pages.
    pub fn on_break(&self, guard: &Guard, start: Addr, length: Bytes, caller: Caller) {
        if process::is_recording(guard) {
            self.map_exactly(guard, start, length, MappingKind::Break, caller);
        }
    }

    /// The program lowered its break.
    pub fn on_break_back(&self, guard: &Guard, start: Addr, length: Bytes) {
        if process::is_recording(guard) {
            mappings::on_unmap(&self.arena, guard.seat_id(), start, length);
        }
    }

    fn map_exactly(&self, guard: &Guard, start: Addr, length: Bytes, kind: MappingKind, caller: Caller) {
        match self.site_on(guard, caller, kind.pseudo()) {
            Some(site) => mappings::on_map(&self.arena, guard.seat_id(), start, length, site),
            None => self.arena.lose(Loss::ArenaFull),
        }
    }

    /// The program is about to unmap memory.
    pub fn on_unmap(&self, guard: &Guard, start: Addr, length: Bytes) {
        stacks::forget();
        if process::is_recording(guard) {
            mappings::on_unmap(&self.arena, guard.seat_id(), start, page_round(length));
        }
    }

    /// The program resized or moved a mapping: it stays its maker's.
    pub fn on_remap(&self, guard: &Guard, old: (Addr, Bytes), new: (Addr, Bytes), caller: Caller) {
        if !process::is_recording(guard) {
            return;
        }
        let Some(site) = mappings::site_of(&self.arena, old.0) else {
            return self.on_map(guard, new.0, new.1, MappingKind::Anonymous, caller);
        };
        self.on_unmap(guard, old.0, old.1);
        mappings::on_map(&self.arena, guard.seat_id(), new.0, page_round(new.1), site);
    }

    /// Somebody mapped memory inside a hook: the allocator, for itself. glibc's own does so unseen.
    #[cold]
    pub fn on_nested_map(&self, start: Addr, length: Bytes) {
        if process::life() == Life::Recording {
            mappings::on_map_by_allocator(&self.arena, start, page_round(length));
        }
    }

    /// Somebody is about to unmap memory inside a hook.
    #[cold]
    pub fn on_nested_unmap(&self, start: Addr, length: Bytes) {
        if process::life() == Life::Recording {
            mappings::on_unmap(&self.arena, SeatId::NONE, start, page_round(length));
        }
    }

    /// A pool took memory that it will hand out in parts.
    #[cold]
    pub fn on_pool_region(&self, guard: &Guard, pool: Allocator, start: Addr, length: Bytes) {
        if process::is_recording(guard) {
            mappings::on_pool_region(&self.arena, pool, start, length);
        }
    }

    /// A pool is about to give a region back; whether it was noted. Where an allocator has mapped it, it is the allocator's again.
    #[cold]
    pub fn on_pool_region_end(&self, guard: &Guard, start: Addr, length: Bytes, is_allocators: bool) -> bool {
        let is_noted = process::is_recording(guard) && mappings::is_in_pool(&self.arena, start);
        match (is_noted, is_allocators) {
            (false, _) => {}
            (true, false) => mappings::on_unmap(&self.arena, guard.seat_id(), start, length),
            (true, true) => mappings::on_map_by_allocator(&self.arena, start, length),
        }
        is_noted
    }

    /// A pool handed out a part of a region. What lies elsewhere (the memory of a device) is not ours to count.
    pub fn on_pool_part(&self, guard: &Guard, addr: Addr, size: Bytes, caller: Caller) {
        if process::is_recording(guard) && mappings::is_in_pool(&self.arena, addr) {
            self.on_alloc(guard, addr, size, Family::Malloc, caller);
        }
    }

    /// A pool is about to take a part back.
    pub fn on_pool_part_end(&self, guard: &Guard, addr: Addr) {
        if process::is_recording(guard)
            && let Some(block) = self.blocks.remove(&self.arena, addr)
        {
            self.count_free(guard, block);
        }
    }

    /// The program is about to limit its address space.
    pub fn on_limit(&self) {
        if process::life() == Life::Recording {
            self.arena.shrink();
        }
    }

    /// The program is about to give up system calls that we would make, and in one mode the time stamp counter, too.
    pub fn on_confine(&self) {
        if process::life() == Life::Recording {
            self.arena.stock_up();
        }
        stop_clock();
        sys::confine();
    }

    /// The program is about to lock all memory that it has.
    pub fn on_lock_all(&self) {
        if process::life() == Life::Recording {
            self.arena.protect();
        }
    }

    /// A library is about to be unloaded.
    pub fn before_unload(&self) {
        self.python.before_unload();
    }

    /// A library may have been unloaded, after [`Tracker::before_unload`].
    pub fn after_unload(&self) {
        self.on_unload();
        self.python.after_unload();
    }

    /// A library may have been unloaded.
    pub fn on_unload(&self) {
        self.unwinder.on_unload();
    }

    #[inline]
    fn is_sampled(&self, guard: &Guard, size: Bytes, interval: u64) -> bool {
        match guard.distance() {
            Some(distance) => distance.passes(size, interval),
            // Without a seat there is no distance to keep: a fresh one obeys the same law, since it has no memory.
            None => sampling::Distance::new(ticks(), interval).passes(size, interval),
        }
    }

    #[inline]
    fn weight(&self, size: Bytes) -> Weight {
        match self.sample_interval() {
            0 => sampling::exact(size),
            interval => sampling::weight(size, interval),
        }
    }

    #[inline]
    fn record_alloc(&self, guard: &Guard, addr: Addr, size: Bytes, family: Family, caller: Caller) {
        let Some(site) = self.site(guard, caller) else { return self.arena.lose(Loss::ArenaFull) };
        match self.blocks.insert(&self.arena, addr, Block { site, size, family }) {
            Ok(None) => {}
            Ok(Some(old)) => {
                self.arena.lose(Loss::Overwritten);
                self.count_free(guard, old);
            }
            Err(_) => return self.arena.lose(Loss::ArenaFull),
        }
        sites::on_alloc(&self.arena, site, guard.seat_id(), self.weight(size), Tally::Heap);
    }

    #[inline(always)]
    fn count_free(&self, guard: &Guard, block: Block) {
        sites::on_free(&self.arena, block.site, guard.seat_id(), self.weight(block.size), Tally::Heap);
    }

    #[cold]
    fn count_unknown_free(&self) {
        if self.sample_interval() == 0 {
            let loss = if process::is_forked() { Loss::InheritedFree } else { Loss::UnknownFree };
            self.arena.lose(loss);
        }
    }
}

const fn page_round(length: Bytes) -> Bytes {
    Bytes::new(length.get().saturating_add(4095) & !4095)
}
