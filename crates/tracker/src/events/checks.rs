//! Blocks with canaries, freed ones in the quarantine, and guarded ones: what is done when they come and go, and what is reported when one of
//! them is not as it should be. Nothing here is on the path of a program that nobody checks.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Family;
use heaplens_format::arena::error::{CalledFunction, ErrorKind, ErrorWhat, side_of_guard};
use heaplens_format::canary::{MOST, damage_in, padded, words_of};
use heaplens_format::environment::Guarding;
use heaplens_format::{Addr, Bytes, Loss, NodeId, SiteId};

use super::errors::Freeing;
use crate::checks::quarantine::{self, Freed};
use crate::checks::{Guarded, SlotState, canary};
use crate::lifecycle::is_recording;
use crate::process::clock::timed;
use crate::process::{is_own_arena, settings};
use crate::sys;
use crate::tables::blocks::Block;
use crate::tables::errors::{self, NewError};
use crate::tables::frees::FREES;
use crate::tables::sampling::mix;
use crate::tables::sites;
use crate::thread::guard::Guard;
use crate::thread::thread_slot;
use crate::thread::timer::Timer;
use crate::thread::words::guard_countdown;
use crate::tracker::Tracker;
use crate::unwind::walk::{Cursor, NEXT};
use crate::unwind::{Caller, stacks};

/// What to do with a block that the program freed.
#[derive(Clone, Copy, Debug)]
pub enum AfterFree {
    /// Nothing: it was a guarded one, or stays in the quarantine.
    Kept,
    /// Give it to the allocator.
    Free,
}

/// A block that a hook is about to make.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// As the program asked for it.
    pub size: usize,
    /// What `malloc` gives, or more.
    pub alignment: usize,
}

impl Tracker {
    /// Whether blocks of these families have a canary, from now on.
    pub fn trust(&self, families: &[Family], are_trusted: bool) {
        self.checks.trust(families, are_trusted);
        if is_own_arena() {
            self.publish_checks();
        }
    }

    /// Puts the canary behind a block of an operator that has asked our `aligned_alloc` for more than the program wanted: it begins where the
    /// program's bytes end.
    pub fn place_canary(&self, addr: Addr, size: Bytes, family: Family) {
        if self.checks.has_canary(family) {
            // SAFETY: a fresh block, padded for at least this size.
            unsafe { canary::place(addr.get() as usize, size.get() as usize) };
        } else {
            self.checks.refuse(family);
        }
    }

    /// Says in the arena which blocks have a canary.
    pub(crate) fn publish_checks(&self) {
        let (header, (start, length)) = (self.arena.header(), self.checks.guards.range());
        header.canary_families.store(self.checks.families_with_canary(), Relaxed);
        header.guard_start.store(start as u64, Relaxed);
        header.guard_length.store(length as u64, Relaxed);
    }

    /// A guarded block, where this one is to be guarded and can be.
    pub fn allocate_guarded(&self, guard: &Guard, wanted: Wanted, caller: Caller) -> Option<usize> {
        if !is_recording(guard) || !wanted.alignment.is_power_of_two() || !self.may_be_guarded() {
            return None;
        }
        let site = self.site(guard, caller)?;
        if settings().checks.guarding == Guarding::Lines && !self.is_guarded_site(site) {
            return None;
        }
        self.take_guarded(wanted, sites::node(&self.arena, site))
    }

    fn take_guarded(&self, wanted: Wanted, allocated: Option<NodeId>) -> Option<usize> {
        let checks = &settings().checks;
        let alignment =
            if wanted.alignment == DEFAULT_ALIGNMENT { checks.alignment as usize } else { wanted.alignment };
        let Some(slot) = self.checks.guards.allocate(wanted.size, alignment, checks.side) else {
            self.arena.lose(Loss::NotGuarded);
            return None;
        };
        slot.allocated.store(allocated.map_or(0, NodeId::get), Relaxed);
        self.arena.header().guarded_blocks.fetch_add(1, Relaxed);
        Some(slot.start())
    }

    /// The same for a block that is not recorded, in a sampled run: its turn has come. `caller` may be a frame of ours.
    #[cold]
    pub fn allocate_guarded_in_turn(&self, guard: &Guard, size: usize, caller: Caller) -> Option<usize> {
        if !is_recording(guard) || !self.checks.guards.may_take_time() {
            return None;
        }
        timed(&self.checks.guards.spent, || {
            let node = self.node(guard, self.outside(guard, caller));
            self.take_guarded(Wanted { size, alignment: DEFAULT_ALIGNMENT }, node)
        })
    }

    /// A guarded block ends that is not recorded. `caller` may be a frame of ours.
    #[cold]
    pub fn free_guarded_in_turn(&self, guard: &Guard, addr: usize, caller: Caller) {
        if is_recording(guard) {
            timed(&self.checks.guards.spent, || {
                let freed = self.site(guard, self.outside(guard, caller));
                self.free_guarded(addr, freed, false);
            });
        }
    }

    /// The first frame that is none of ours.
    fn outside(&self, guard: &Guard, caller: Caller) -> Caller {
        const MOST: usize = 16;
        let own = guard.slot().and_then(|slot| slot.own_stack_end(caller.rsp));
        let end = own.unwrap_or_else(|| stacks::end_of(Addr::new(caller.rsp)));
        let mut cursor = Cursor::new(caller, end);
        for _ in 0..MOST {
            let rule = self.unwinder.rule(&self.arena, Addr::new(cursor.lookup));
            if rule.module() != self.unwinder.modules.own() || cursor.step(rule, |_, _| ()) & NEXT == 0 {
                break;
            }
        }
        Caller { rsp: cursor.slot, rbp: cursor.rbp }
    }

    /// Whether it is this block's turn, as far as that does not depend on its site.
    fn may_be_guarded(&self) -> bool {
        match settings().checks.guarding {
            Guarding::None => false,
            Guarding::All | Guarding::Lines => self.checks.guards.range().1 != 0,
            Guarding::Sample(blocks) => is_turn(blocks) && self.checks.guards.may_take_time(),
        }
    }

    fn is_guarded_site(&self, site: SiteId) -> bool {
        self.checks.code.holds_site(site.get(), || {
            let node = sites::node(&self.arena, site);
            node.is_some_and(|node| {
                self.trie.frames(&self.arena, node).any(|frame| self.is_guarded_frame(frame))
            })
        })
    }

    fn is_guarded_frame(&self, frame: u64) -> bool {
        let place = self.unwinder.modules.place_of(&self.arena, frame);
        place.is_some_and(|(path, offset)| self.checks.code.holds(path, offset))
    }

    /// The size of a block that has a canary or a guard, as the program asked for it; `None` where it has neither.
    pub fn asked_size(&self, addr: usize) -> Option<usize> {
        if self.checks.guards.contains(addr) {
            return self.checks.guards.at(addr).map(|found| found.size);
        }
        let block = self.block_at(Addr::new(addr as u64))?;
        self.checks.has_canary(block.family).then_some(block.size.get() as usize)
    }

    /// The program frees a block, or whatever it takes for one. `give_back` frees those that leave the quarantine.
    pub fn on_checked_free(
        &self,
        guard: &Guard,
        addr: Addr,
        call: (Freeing, Caller),
        give_back: impl Fn(usize),
    ) -> AfterFree {
        if !is_recording(guard) {
            return self.after_unseen_free(addr);
        }
        let timer = Timer::start(guard);
        let after = match self.remove_block(addr) {
            Some(block) => {
                let after = self.end_checked(guard, (addr, block), call, give_back);
                self.count_free(guard, block);
                after
            }
            None => self.end_unknown(guard, addr, call, give_back),
        };
        timer.stop(&self.arena);
        after
    }

    /// The same where nothing is recorded: what has a canary is not known there, and what has a guard is not the allocator's.
    pub fn after_unseen_free(&self, addr: Addr) -> AfterFree {
        match self.checks.guards.contains(addr.get() as usize) {
            true => AfterFree::Kept,
            false => AfterFree::Free,
        }
    }

    /// A block is out of the table, and still there.
    fn end_checked(
        &self,
        guard: &Guard,
        (addr, block): (Addr, Block),
        call: (Freeing, Caller),
        give_back: impl Fn(usize),
    ) -> AfterFree {
        if block.family != call.0.family {
            self.on_other_family(guard, addr, block, call);
        }
        self.check_around(guard, addr, block, call.1);
        self.keep_freed(guard, (addr, block), call.1, give_back)
    }

    /// What becomes of a block that is out of the table, and that the program has given up: by a free, or since `realloc` has moved it.
    pub fn keep_freed(
        &self,
        guard: &Guard,
        (addr, block): (Addr, Block),
        caller: Caller,
        give_back: impl Fn(usize),
    ) -> AfterFree {
        let is_guarded = self.checks.guards.contains(addr.get() as usize);
        let stays = self.checks.has_canary(block.family) && self.checks.quarantine.takes(block.size);
        if !is_guarded && !stays && !self.is_memcheck() {
            return AfterFree::Free;
        }
        let freed = Freed { addr, block, freed: self.site(guard, caller) };
        if is_guarded {
            self.free_guarded(addr.get() as usize, freed.freed, true);
            return AfterFree::Kept;
        }
        if stays {
            return self.put_into_quarantine(freed, give_back);
        }
        self.note_freed(freed);
        AfterFree::Free
    }

    /// No live block is known at the address.
    #[cold]
    #[inline(never)]
    fn end_unknown(
        &self,
        guard: &Guard,
        addr: Addr,
        call: (Freeing, Caller),
        give_back: impl Fn(usize),
    ) -> AfterFree {
        self.on_free_of_none(guard, addr, call);
        self.after_free_of_none(guard, addr, call.1, give_back)
    }

    /// What becomes of what is no live block, whether that was an error or not.
    #[cold]
    pub fn after_free_of_none(
        &self,
        guard: &Guard,
        addr: Addr,
        caller: Caller,
        give_back: impl Fn(usize),
    ) -> AfterFree {
        if self.checks.guards.contains(addr.get() as usize) {
            self.free_guarded(addr.get() as usize, self.site(guard, caller), false);
            return AfterFree::Kept;
        }
        self.leave_quarantine(addr, give_back);
        AfterFree::Free
    }

    /// Where a block was freed first, for a second free.
    fn note_freed(&self, freed: Freed) {
        if self.is_memcheck()
            && let Some(node) = self.node_of(freed.freed)
        {
            FREES.note(freed.addr, node);
        }
    }

    /// Where the block that was at an address was freed.
    pub(super) fn freed_at(&self, addr: Addr) -> Option<NodeId> {
        match self.checks.quarantine.find(addr) {
            Some(freed) => self.node_of(freed.freed),
            None => FREES.at(addr),
        }
    }

    fn node_of(&self, site: Option<SiteId>) -> Option<NodeId> {
        sites::node(&self.arena, site?)
    }

    /// A block that the program is about to give back: is it whole?
    #[inline(always)]
    pub fn check_around(&self, guard: &Guard, addr: Addr, block: Block, caller: Caller) {
        let start = addr.get() as usize;
        let changed = match self.checks.guards.contains(start) {
            true => self.checks.guards.at(start).and_then(|found| self.checks.guards.damage(found.slot)),
            // SAFETY: the block is in the table, or was until now, and its owner gives it to us.
            false if self.checks.has_canary(block.family) => unsafe {
                canary::damage(start, block.size.get() as usize)
            },
            false => None,
        };
        if let Some(changed) = changed {
            self.report_damage(addr, block, changed, self.node(guard, caller));
        }
    }

    /// What the program frees a second time is given back first: the allocator finds it as it would alone.
    #[cold]
    pub fn leave_quarantine(&self, addr: Addr, give_back: impl Fn(usize)) {
        let ([word], count) = sys::read_words::<1>(addr.get());
        let start = addr.get() as usize;
        if count == 1 && quarantine::is_pattern(start, word) && self.checks.quarantine.take_out(addr) {
            give_back(start);
        }
    }

    /// `is_checked`: what lies around it was looked at.
    fn free_guarded(&self, addr: usize, freed: Option<SiteId>, is_checked: bool) {
        let Some(found) = self.checks.guards.at(addr).filter(|found| found.state == SlotState::Live) else {
            return;
        };
        let freed = self.node_of(freed);
        if !is_checked && let Some(changed) = self.checks.guards.damage(found.slot) {
            let allocated = found.slot.allocated.load(Relaxed);
            let at = Addr::new(addr as u64);
            let error = NewError {
                allocated: (allocated != 0).then(|| NodeId::new(allocated)),
                start: at,
                size: Bytes::new(found.size as u64),
                ..self.damage_at(at, changed, Family::Malloc, freed)
            };
            errors::record(&self.arena, &error);
        }
        self.checks.guards.free(found.slot, freed.map_or(0, NodeId::get));
    }

    fn put_into_quarantine(&self, freed: Freed, give_back: impl Fn(usize)) -> AfterFree {
        // SAFETY: the program has given the block up, and it is as long as a padded one.
        unsafe { quarantine::fill(freed.addr.get() as usize, whole(&freed)) };
        for _ in 0..MOST_ROUNDS {
            let leaving = self.checks.quarantine.put(freed);
            for old in leaving.blocks() {
                self.check_freed(old);
                self.note_freed(old);
                give_back(old.addr.get() as usize);
            }
            if leaving.is_kept {
                return AfterFree::Kept;
            }
        }
        self.note_freed(freed);
        AfterFree::Free
    }

    /// Whether a block in the quarantine was written to.
    fn check_freed(&self, freed: Freed) {
        let start = freed.addr.get() as usize;
        // SAFETY: it was filled when it came, and is not given back yet.
        let Some(changed) = (unsafe { quarantine::first_change(start, whole(&freed)) }) else { return };
        let what = what(ErrorKind::WriteAfterFree, freed.block.family);
        let error = NewError {
            freed: self.node_of(freed.freed),
            ..self.about(
                NewError::at(what, NodeId::new(0), Addr::new(changed as u64)),
                freed.addr,
                freed.block,
            )
        };
        errors::record(&self.arena, &error);
    }

    /// The program ends: every block, and every one in the quarantine.
    #[cold]
    pub fn check_all_blocks(&self) {
        if !self.checks.is_on() || !is_own_arena() {
            return;
        }
        self.checks.quarantine.each(|freed| self.check_freed(freed));
        for found in self.checks.guards.each_live() {
            self.check_guarded(found);
        }
        if self.checks.has_canaries() {
            let is_alone = thread_slot::taken() <= 1;
            self.blocks.each(&self.arena, |addr, block| self.check_live(addr, block, is_alone));
        }
    }

    fn check_guarded(&self, found: Guarded<'_>) {
        let addr = Addr::new(found.start as u64);
        let block = self.blocks.find(&self.arena, addr);
        if let (Some(block), Some(changed)) = (block, self.checks.guards.damage(found.slot)) {
            self.report_damage(addr, block, changed, None);
        }
    }

    /// Another thread may free the block meanwhile, and even unmap it: what is read counts only if the block is there before and after.
    fn check_live(&self, addr: Addr, block: Block, is_alone: bool) {
        let (start, size) = (addr.get() as usize, block.size.get() as usize);
        if !self.checks.has_canary(block.family) || self.checks.guards.contains(start) {
            return;
        }
        let look = || match is_alone {
            // SAFETY: no other thread can free the block.
            true => unsafe { canary::damage(start, size) },
            false => copied_damage(start, size),
        };
        let Some(changed) = look() else { return };
        let is_there = || self.blocks.find(&self.arena, addr) == Some(block);
        if is_there() && look() == Some(changed) && is_there() {
            self.report_damage(addr, block, changed, None);
        }
    }

    fn report_damage(&self, addr: Addr, block: Block, changed: usize, found_at: Option<NodeId>) {
        let error = self.about(self.damage_at(addr, changed, block.family, found_at), addr, block);
        errors::record(&self.arena, &error);
    }

    fn damage_at(&self, addr: Addr, changed: usize, family: Family, found_at: Option<NodeId>) -> NewError {
        let kind = if (changed as u64) < addr.get() { ErrorKind::Underrun } else { ErrorKind::Overrun };
        let side = self.checks.guards.contains(changed).then_some(settings().checks.side);
        let error =
            NewError::at(what(kind, family), found_at.unwrap_or(NodeId::new(0)), Addr::new(changed as u64));
        NewError { extra: side_of_guard(side), ..error }
    }

    fn about(&self, error: NewError, start: Addr, block: Block) -> NewError {
        let allocated = sites::node(&self.arena, block.site);
        NewError { site: Some(block.site), allocated, start, size: block.size, ..error }
    }
}

/// How often some blocks leave the quarantine for a larger one.
const MOST_ROUNDS: usize = 256;

/// What `malloc` gives.
pub const DEFAULT_ALIGNMENT: usize = 16;

/// The bytes of a freed block that are filled: its canary as well.
fn whole(freed: &Freed) -> usize {
    let size = freed.block.size.get() as usize;
    padded(size).unwrap_or(size)
}

pub(super) fn what(kind: ErrorKind, family: Family) -> ErrorWhat {
    ErrorWhat { kind, family, function: CalledFunction::default() }
}

/// The same as [`canary::damage`] for memory that may be gone.
fn copied_damage(start: usize, size: usize) -> Option<usize> {
    let mut copy = [0; MOST];
    let (first, length) = words_of(start, size)?;
    let copy = copy.get_mut(..length)?;
    if sys::read_bytes(first as u64, copy) != length {
        return None;
    }
    damage_in(copy, start, size)
}

/// Whether the turn of one of `blocks` blocks has come, on this thread.
fn is_turn(blocks: u32) -> bool {
    // SAFETY: the word belongs to this thread; a signal handler that meets it halfway only moves a turn.
    let countdown = unsafe { &mut *guard_countdown() };
    let left = if *countdown == 0 { next_turn(blocks) } else { *countdown };
    *countdown = left - 1;
    left == 1
}

/// After how many blocks the next turn comes: from 1 to twice the mean, so that no pattern of the program hides some of them for ever.
pub fn next_turn(blocks: u32) -> u64 {
    1 + mix(crate::process::clock::ticks()) % (2 * u64::from(blocks)).saturating_sub(1).max(1)
}
