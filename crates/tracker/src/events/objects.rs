//! Small objects of Python: blocks that its own allocator cuts out of arenas, so that `malloc` never sees them. They are
//! sampled with unbiased weights, or all recorded when the user asks for it.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::{Family, Pseudo};
use heaplens_format::environment::Objects;
use heaplens_format::{Addr, Bytes, Loss};

use crate::lifecycle::is_recording;
use crate::objects::samples::{Chance, Sample, Thinned};
use crate::process::clock::ticks;
use crate::process::settings;
use crate::tables::blocks::Block;
use crate::tables::filter::Filter;
use crate::tables::sampling::{self, Distance};
use crate::tables::sites::{self, Tally};
use crate::tables::weight::Weight;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;
use crate::unwind::Caller;

/// Whether every object is recorded.
#[inline(always)]
fn records_all() -> bool {
    settings().objects == Objects::All
}

/// An object that `realloc` is about to move: no longer recorded.
#[derive(Clone, Copy, Debug)]
pub struct ClaimedObject {
    addr: Addr,
    block: Block,
}

impl Tracker {
    /// From now on objects come.
    pub fn begin_objects(&self) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if is_recording(&guard) {
            let header = self.arena.header();
            header.object_interval.store(self.object_interval(), Relaxed);
            // The end of every object reads the filter.
            let filter = if records_all() { 0 } else { size_of::<Filter>() as u64 };
            header.private_bytes.fetch_add(filter, Relaxed);
        }
        self.samples.watched.begin();
    }

    /// As the arena has it: 1 when every object is recorded.
    fn object_interval(&self) -> u64 {
        if records_all() { 1 } else { self.samples.interval() }
    }

    /// Python made an object of this size, too small for `malloc`, which did not pass by
    /// ([`crate::thread::words::object_passes_by`]).
    #[cold]
    #[inline(never)]
    pub fn on_object(&self, addr: Addr, size: Bytes, caller: Caller) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        let is_exact = records_all();
        if !is_recording(&guard) || !(is_exact || self.is_object_sampled(&guard, size)) {
            return;
        }
        if self.blocks.find(&self.arena, addr).is_some() {
            return; // in the table of `malloc` it is counted already: Python's own allocator is not in use
        }
        let site = self.site_on(&guard, caller, Pseudo::PythonObject);
        let Some(site) = site else { return self.arena.lose(Loss::ArenaFull) };
        if is_exact {
            self.record_every_object(&guard, addr, Block { site, size, family: Family::PythonObject });
        } else {
            self.record_sample(&guard, Sample { addr, site, size });
        }
    }

    /// Python is about to free an object.
    #[inline(always)]
    pub fn on_object_end(&self, addr: Addr) {
        if records_all() || self.samples.filter.may_hold(addr) {
            self.end_object(addr);
        }
    }

    /// Whether an object is a sample. The interval may have grown since the distance was drawn: then the sample stays with
    /// less than certainty.
    fn is_object_sampled(&self, guard: &Guard, size: Bytes) -> bool {
        let Some(slot) = guard.slot() else { return false };
        let (drawn, now) = (slot.object_interval, self.samples.interval());
        if drawn == now {
            return guard.object_distance().passes(size, now);
        }
        let seed = ticks() ^ u64::from(slot.id().get()) << 48;
        *guard.object_distance() = Distance::new(seed, now);
        slot.object_interval = now;
        drawn != 0 && Chance(seed).stays(size, drawn, now)
    }

    fn record_sample(&self, guard: &Guard, sample: Sample) {
        let Some(alone) = self.samples.alone() else { return self.arena.lose(Loss::Reentered) };
        if let Some(Sample { site, size, .. }) = alone.insert(sample) {
            self.count_end(guard, Block { site, size, family: Family::PythonObject });
        }
        let grown = alone.newly_resident(sample.addr);
        if grown != 0 {
            self.arena.header().private_bytes.fetch_add(grown, Relaxed);
        }
        let weight = sampling::weight(sample.size, self.samples.interval());
        sites::on_alloc(&self.arena, sample.site, guard.slot_id(), weight, Tally::Apart);
        if alone.is_full() {
            alone.thin(|sample, fate, old, new| self.reweigh(guard, sample, fate, old, new));
            self.arena.header().object_interval.store(self.samples.interval(), Relaxed);
        }
    }

    /// A sample was dropped, or stands for more than before: the difference is counted at its site.
    fn reweigh(&self, guard: &Guard, sample: Sample, fate: Thinned, old: u64, new: u64) {
        let before = sampling::weight(sample.size, old);
        let after = match fate {
            Thinned::Stays => sampling::weight(sample.size, new),
            Thinned::Goes => Weight { bytes: 0, blocks: 0 },
        };
        let difference = Weight {
            bytes: after.bytes.wrapping_sub(before.bytes),
            blocks: after.blocks.wrapping_sub(before.blocks),
        };
        sites::on_alloc(&self.arena, sample.site, guard.slot_id(), difference, Tally::Apart);
    }

    fn record_every_object(&self, guard: &Guard, addr: Addr, block: Block) {
        match self.blocks.insert_packed(&self.arena, addr, block) {
            Ok(None) => {}
            Ok(Some(old)) => self.count_end(guard, old),
            Err(_) => return self.arena.lose(Loss::ArenaFull),
        }
        sites::on_alloc(&self.arena, block.site, guard.slot_id(), sampling::exact(block.size), Tally::Apart);
    }

    #[cold]
    #[inline(never)]
    fn end_object(&self, addr: Addr) {
        self.samples.watched.on_end(addr, &self.samples.filter);
        if self.samples.iterators.remove(addr, &self.samples.filter) {
            self.end_iterator(addr);
        }
        if records_all() || self.samples.may_hold(addr) {
            self.claim_slowly(addr);
        }
    }

    /// The iterator of a loop is about to be freed; its fields are still intact.
    fn end_iterator(&self, block: Addr) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        let (true, Some(slot), Some(thread)) = (is_recording(&guard), guard.slot(), self.python().thread())
        else {
            return;
        };
        let marked = slot.python.on_iterator_freed(block, thread, self.tables());
        drop(guard);
        if let Some(end) = marked {
            self.on_loop_over(end);
        }
    }

    /// Takes an object out before `realloc`: afterwards its address may belong to another.
    #[inline(always)]
    pub fn claim_object(&self, addr: Addr) -> Option<ClaimedObject> {
        let may = records_all() || self.samples.filter.may_hold(addr);
        if may { self.claim_slowly(addr) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn claim_slowly(&self, addr: Addr) -> Option<ClaimedObject> {
        let guard = Guard::enter(Nesting::Never)?;
        if !is_recording(&guard) || addr.get() == 0 {
            return None;
        }
        let block = if records_all() { self.take_every_object(addr) } else { self.take_sample(addr) }?;
        self.count_end(&guard, block);
        Some(ClaimedObject { addr, block })
    }

    /// `realloc` failed: the object lives on.
    #[cold]
    pub fn give_back_object(&self, claimed: ClaimedObject) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if !is_recording(&guard) {
            return;
        }
        let ClaimedObject { addr, block } = claimed;
        if records_all() {
            self.record_every_object(&guard, addr, block);
        } else {
            self.record_sample(&guard, Sample { addr, site: block.site, size: block.size });
        }
    }

    fn take_sample(&self, addr: Addr) -> Option<Block> {
        let Some(alone) = self.samples.alone() else {
            self.arena.lose(Loss::Reentered);
            return None;
        };
        let sample = alone.remove(addr)?;
        Some(Block { site: sample.site, size: sample.size, family: Family::PythonObject })
    }

    /// A block of `malloc` stays in the table: its own `free` is yet to come.
    fn take_every_object(&self, addr: Addr) -> Option<Block> {
        self.blocks.find(&self.arena, addr).filter(|block| block.family == Family::PythonObject)?;
        self.blocks.remove_packed(&self.arena, addr)
    }

    fn count_end(&self, guard: &Guard, block: Block) {
        let weight = match self.object_interval() {
            1 => sampling::exact(block.size),
            interval => sampling::weight(block.size, interval),
        };
        sites::on_free(&self.arena, block.site, guard.slot_id(), weight, Tally::Apart);
    }
}
