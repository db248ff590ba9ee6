//! Blocks of the heap, from the hook's guard to the tables. It owns the order in which an event touches them, and never decides whether a
//! real function is called; that is the agent's.

use heaplens_format::arena::{BlockEntry, Family};
use heaplens_format::{Addr, Bytes, Loss};

use super::errors::Freeing;
use crate::lifecycle::is_recording;
use crate::process::clock::ticks;
use crate::process::is_quick;
use crate::tables::blocks::Block;
use crate::tables::sampling;
use crate::tables::sites::{self, Tally};
use crate::tables::weight::Weight;
use crate::thread::guard::{Guard, Nesting};
use crate::thread::timer::Timer;
use crate::tracker::Tracker;
use crate::unwind::{Caller, stacks};

/// A block that `realloc` is about to move: out of the table, not yet counted as freed.
#[derive(Clone, Copy, Debug)]
pub struct Claimed {
    addr: Addr,
    block: Block,
}

impl Claimed {
    /// Where it begins, and what it is.
    pub fn block(&self) -> (Addr, Block) {
        (self.addr, self.block)
    }

    /// Its size.
    pub fn size(&self) -> Bytes {
        self.block.size
    }
}

impl Tracker {
    /// A block was allocated.
    ///
    /// Benchmark: `cargo xtask bench`, pairs.
    #[inline]
    pub fn on_alloc(&self, guard: &Guard, addr: Addr, size: Bytes, family: Family, caller: Caller) {
        if !is_recording(guard) {
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
    pub fn on_free(&self, guard: &Guard, addr: Addr, by: Freeing, caller: Caller) {
        if !is_recording(guard) {
            return;
        }
        let timer = Timer::start(guard);
        // The word stays in a register: a block that went through memory in pieces would cost as much as the rest.
        match self.blocks.remove_plain(&self.arena, addr) {
            Some(entry) => {
                self.check_free(guard, addr, entry, (by, caller));
                self.count_free(guard, Block::of(entry));
            }
            None => self.free_slowly(guard, addr, (by, caller)),
        }
        timer.stop(&self.arena);
    }

    /// The end of a block that is not alone in its granule, is too large for a word, or may not be a sample.
    #[inline(never)]
    fn free_slowly(&self, guard: &Guard, addr: Addr, call: (Freeing, Caller)) {
        match self.remove_block(addr) {
            Some(block) => {
                self.check_block(guard, addr, block, call);
                self.count_free(guard, block);
            }
            None => self.on_free_of_none(guard, addr, call),
        }
    }

    /// Removes the block that begins at an address. Where blocks may have guards, an address before or in one of those may share a word of the table with it.
    pub(super) fn remove_block(&self, addr: Addr) -> Option<Block> {
        if self.may_begin(addr) { self.blocks.remove(&self.arena, addr) } else { None }
    }

    /// Whether a block can begin at an address: the table knows addresses by words, and a pointer into the first word of a block is none to the
    /// block. Of a guarded block it is known where it begins.
    pub fn may_begin(&self, addr: Addr) -> bool {
        let start = addr.get() as usize;
        if self.checks.guards.contains(start) {
            self.checks.guards.at(start).is_some()
        } else {
            is_word(addr)
        }
    }

    /// The live block that begins at an address.
    pub fn block_at(&self, addr: Addr) -> Option<Block> {
        if self.may_begin(addr) { self.blocks.find(&self.arena, addr) } else { None }
    }

    #[inline(always)]
    fn check_free(&self, guard: &Guard, addr: Addr, entry: BlockEntry, call: (Freeing, Caller)) {
        if call.0.is_noted || entry.family() != call.0.family {
            self.check_block(guard, addr, Block::of(entry), call);
        }
    }

    #[inline(never)]
    fn check_block(&self, guard: &Guard, addr: Addr, block: Block, call: (Freeing, Caller)) {
        if block.family != call.0.family {
            self.on_other_family(guard, addr, block, call);
        }
        if call.0.is_noted && self.is_memcheck() {
            self.note_free(guard, addr, call.1);
        }
    }

    /// Whether a block is surely not in the table, and its free needs nothing from us.
    #[inline(always)]
    pub fn surely_lacks(&self, addr: Addr) -> bool {
        is_quick() && self.blocks.surely_lacks(addr)
    }

    /// Takes back that a block was recorded, as if it had not been: it will be recorded again under another name.
    #[cold]
    pub fn forget(&self, guard: &Guard, addr: Addr) {
        if is_recording(guard)
            && let Some(block) = self.blocks.remove(&self.arena, addr)
        {
            self.blocks.forget_freed(&self.arena, addr);
            sites::take_back(&self.arena, block.site, guard.slot_id(), self.weight(block.size));
        }
    }

    /// Takes a block out of the table before `realloc`: afterwards its address may belong to somebody else.
    pub fn before_realloc(&self, guard: &Guard, addr: Addr, by: Freeing, caller: Caller) -> Option<Claimed> {
        if !is_recording(guard) {
            return None;
        }
        let block = self.remove_block(addr);
        match block {
            Some(block) => self.check_block(guard, addr, block, (by, caller)),
            None => self.on_free_of_none(guard, addr, (by, caller)),
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

    #[inline]
    fn is_sampled(&self, guard: &Guard, size: Bytes, interval: u64) -> bool {
        match guard.distance() {
            Some(distance) => distance.passes(size, interval),
            // Without a thread slot there is no distance to keep: a fresh one obeys the same law, since it has no memory.
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
        let Some(site) = self.site(guard, caller) else { return self.lose_block(addr) };
        match self.blocks.insert(&self.arena, addr, Block { site, size, family }) {
            Ok(None) => {}
            Ok(Some(old)) => {
                self.arena.lose(Loss::Overwritten);
                self.count_free(guard, old);
            }
            Err(_) => return self.lose_block(addr),
        }
        if guard.slot().is_some_and(|slot| slot.ignoring != 0) {
            self.blocks.ignore(&self.arena, addr);
        }
        sites::on_alloc(&self.arena, site, guard.slot_id(), self.weight(size), Tally::Heap);
    }

    #[cold]
    fn lose_block(&self, addr: Addr) {
        self.blocks.forget_freed(&self.arena, addr);
        self.arena.lose(Loss::ArenaFull);
    }

    /// The program keeps a block on purpose, and whatever it leads to.
    #[cold]
    pub fn on_ignore(&self, addr: Addr) {
        if let Some(guard) = Guard::enter(Nesting::Never)
            && is_recording(&guard)
        {
            self.blocks.ignore(&self.arena, addr);
        }
    }

    /// From now on what this thread allocates is kept on purpose, or no longer; as often as the one is said, the other has to be.
    #[cold]
    pub fn on_ignoring(&self, begins: bool) {
        if let Some(guard) = Guard::enter(Nesting::Never)
            && let Some(slot) = guard.slot()
        {
            slot.ignoring =
                if begins { slot.ignoring.saturating_add(1) } else { slot.ignoring.saturating_sub(1) };
        }
    }

    #[inline(always)]
    pub(super) fn count_free(&self, guard: &Guard, block: Block) {
        if block.size >= MAPPED_BY_LIBC {
            stacks::forget();
        }
        sites::on_free(&self.arena, block.site, guard.slot_id(), self.weight(block.size), Tally::Heap);
    }
}

/// From this size on the C library may have mapped a block for itself, and unmaps it without a call that we see.
const MAPPED_BY_LIBC: Bytes = Bytes::new(128 << 10);

/// Whether the table has a word for an address that is not that of another one: words begin at multiples of eight.
fn is_word(addr: Addr) -> bool {
    addr.get().is_multiple_of(8)
}
