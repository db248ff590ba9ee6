//! Memory errors of the program: what a function was given that frees, and what can be proved of it. All of it is cold: nothing here runs
//! for a program that frees what it has allocated, once, and by the right function.
//!
//! ```text
//!   no live block at the address
//!     ├─ it is on the stack of this thread, or in an object file ──▶ free of the stack, of static data
//!     ├─ no block of the allocator can be there ───────────────────▶ free of no block
//!     ├─ a live block covers it ───────────────────────────────────▶ free inside a block
//!     ├─ one was freed here ───────────────────────────────────────▶ double free
//!     ╰─ else ─────────────────────────────────────────────────────▶ a loss: the block was never seen
//! ```
//!
//! Nothing is claimed in a sampled run, under another allocator than glibc's, and where events were lost that would explain it.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::block::ADDRESS_BITS;
use heaplens_format::arena::error::{CalledFunction, ErrorKind, ErrorWhat};
use heaplens_format::memory::Family;
use heaplens_format::{Addr, Bytes, Loss, NodeId};

use crate::modules;
use crate::process::is_forked;
use crate::sys;
use crate::tables::blocks::{Block, Enclosing};
use crate::tables::errors::{self, NewError};
use crate::tables::frees::FREES;
use crate::tables::sites;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;
use crate::unwind::Caller;

/// glibc's blocks begin at multiples of this.
const ALIGNMENT: u64 = 16;
/// No process has memory below (`vm.mmap_min_addr`).
const LOWEST: u64 = 1 << 16;
/// After so many frees of blocks that were never seen there may be very many.
const FEW: u64 = 16;
/// Granules that are searched for the block around an address: some milliseconds before, some microseconds after.
const FAR: usize = 1 << 22;
const NEAR: usize = 1 << 10;
/// A leaf function may keep this much below its stack pointer.
const RED_ZONE: u64 = 128;

/// A function that frees. Small, so that it travels in a register.
#[derive(Clone, Copy, Debug)]
pub struct Freeing {
    /// The function.
    pub function: CalledFunction,
    /// Whose blocks it frees.
    pub family: Family,
    /// Whether its stack is kept.
    pub is_noted: bool,
    /// Whether anything may be claimed of it: the dynamic linker has blocks of its own.
    pub is_checked: bool,
}

impl Freeing {
    /// This function, for blocks of this family.
    pub const fn by(function: CalledFunction, family: Family, is_noted: bool) -> Self {
        Self { function, family, is_noted, is_checked: true }
    }
}

impl Tracker {
    /// Whether the stacks of frees are kept and the arguments of functions are checked.
    #[inline(always)]
    pub fn is_memcheck(&self) -> bool {
        self.memcheck.load(Relaxed)
    }

    /// A block was allocated and is not recorded.
    #[cold]
    pub fn on_unseen_alloc(&self, addr: Addr) {
        if crate::process::life() == crate::process::Life::Recording {
            self.blocks.forget_freed(&self.arena, addr);
        }
    }

    /// Whether C++'s operators are those of the C++ library, and nobody has others of their own.
    pub fn set_operators_known(&self, are_known: bool) {
        self.operators_known.store(are_known, Relaxed);
    }

    /// Keeps the stack of a free.
    #[cold]
    pub(super) fn note_free(&self, guard: &Guard, addr: Addr, caller: Caller) {
        if let Some(node) = self.node(guard, caller) {
            FREES.note(addr, node);
        }
    }

    /// A block is freed, or moved, by another function than the one that belongs to the function that allocated it.
    #[cold]
    #[inline(never)]
    pub(super) fn on_other_family(&self, guard: &Guard, addr: Addr, block: Block, call: (Freeing, Caller)) {
        let (by, _) = call;
        if !by.is_checked || !self.blocks.knows_freed() {
            return;
        }
        let kind = match block.family {
            Family::PoolPart | Family::PythonObject => ErrorKind::FreeOfPool,
            _ if self.operators_known.load(Relaxed) => ErrorKind::MismatchedFree,
            _ => return,
        };
        self.report_block(guard, kind, call, addr, (addr, block));
    }

    /// No live block is known where one is to be freed.
    #[cold]
    #[inline(never)]
    pub(super) fn on_free_of_none(&self, guard: &Guard, addr: Addr, call: (Freeing, Caller)) {
        if !self.blocks.knows_freed() || !call.0.is_checked || !self.is_claimed(guard, addr, call) {
            self.count_unknown_free();
        }
    }

    /// Whether it is an error for certain, which is reported. A process may free any number of blocks that were never seen, so what is cheap
    /// comes first, and the search for a block around the address is short after the first of them.
    fn is_claimed(&self, guard: &Guard, addr: Addr, call: (Freeing, Caller)) -> bool {
        let (by, caller) = call;
        let freed = if self.may_begin(addr) { self.blocks.freed(&self.arena, addr) } else { None };
        if freed.is_none()
            && let Some(kind) = self.kind_of_place(guard, addr, caller)
        {
            let Some(stack) = self.node(guard, caller) else { return true };
            let what = ErrorWhat { kind, family: by.family, function: by.function };
            errors::record(&self.arena, &NewError::at(what, stack, addr));
            return true;
        }
        match (self.blocks.around(&self.arena, addr, self.search_limit()), freed) {
            (Enclosing::Unknown, _) | (Enclosing::Nothing, None) => false,
            (Enclosing::Nothing, Some(block)) => self.is_freed_again(guard, addr, block, call),
            (Enclosing::Block(start, block), _) => {
                let is_sure = !self.has_lost(&[Loss::Reentered, Loss::Overwritten, Loss::ArenaFull]);
                if is_sure {
                    self.report_block(guard, ErrorKind::FreeInside, call, addr, (start, block));
                }
                is_sure
            }
        }
    }

    fn search_limit(&self) -> usize {
        let unseen = self.count_of(Loss::UnknownFree) + self.count_of(Loss::InheritedFree);
        if unseen < FEW { FAR } else { NEAR }
    }

    /// Blocks that come and go unseen would look the same. Where there are any, some were seen to be freed only, or replaced unseen.
    fn is_freed_again(&self, guard: &Guard, addr: Addr, block: Block, call: (Freeing, Caller)) -> bool {
        let function = call.0.function;
        if self.has_lost(&[Loss::UnknownFree, Loss::Overwritten]) {
            return false;
        }
        let is_realloc = function == CalledFunction::REALLOC || function == CalledFunction::REALLOCARRAY;
        let kind = if is_realloc { ErrorKind::ReallocOfFreed } else { ErrorKind::DoubleFree };
        self.report_block(guard, kind, call, addr, (addr, block));
        true
    }

    /// What is at an address that no block can be at; `None` where one can.
    fn kind_of_place(&self, guard: &Guard, addr: Addr, caller: Caller) -> Option<ErrorKind> {
        if self.is_on_stack(guard, addr, caller) {
            return Some(ErrorKind::FreeOfStack);
        }
        if modules::range_of(addr.get()).is_some() {
            return Some(ErrorKind::FreeOfStatic);
        }
        let is_around = || self.blocks.around(&self.arena, addr, self.search_limit()) != Enclosing::Nothing;
        let is_impossible = addr.get() < LOWEST
            || addr.get() >> ADDRESS_BITS != 0
            || !addr.get().is_multiple_of(ALIGNMENT) && !is_around()
            || self.may_ask() && sys::read_bytes(addr.get(), &mut [0]) == 0;
        is_impossible.then_some(ErrorKind::FreeOfNoBlock)
    }

    /// Whether the kernel may be asked what is mapped: not for each of many blocks.
    fn may_ask(&self) -> bool {
        !sys::is_confined() && self.search_limit() == FAR
    }

    /// Whether an address is on the stack of this thread, which is no block itself.
    fn is_on_stack(&self, guard: &Guard, addr: Addr, caller: Caller) -> bool {
        let rsp = Addr::new(caller.rsp);
        let end = guard.slot().and_then(|slot| slot.own_stack_end(caller.rsp));
        let is_there = end.is_some_and(|end| addr.get() + RED_ZONE >= caller.rsp && addr < end);
        is_there && self.blocks.around(&self.arena, rsp, FAR) == Enclosing::Nothing
    }

    fn report_block(
        &self,
        guard: &Guard,
        kind: ErrorKind,
        (by, caller): (Freeing, Caller),
        address: Addr,
        (start, block): (Addr, Block),
    ) {
        let Some(stack) = self.node(guard, caller) else { return };
        let what = ErrorWhat { kind, family: block.family, function: by.function };
        let was_freed = matches!(kind, ErrorKind::DoubleFree | ErrorKind::ReallocOfFreed);
        let error = NewError {
            site: Some(block.site),
            allocated: sites::node(&self.arena, block.site),
            freed: if was_freed { self.freed_at(start) } else { None },
            start,
            size: block.size,
            ..NewError::at(what, stack, address)
        };
        errors::record(&self.arena, &error);
    }

    /// An argument that a function should not have been given.
    #[cold]
    #[inline(never)]
    pub fn on_bad_argument(
        &self,
        (kind, function): (ErrorKind, CalledFunction),
        (address, access, extra): (Addr, Bytes, u64),
        caller: Caller,
    ) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if !crate::lifecycle::is_recording(&guard) {
            return;
        }
        let Some(stack) = self.node(&guard, caller) else { return };
        let what = ErrorWhat { kind, family: Family::Malloc, function };
        errors::record(&self.arena, &NewError { access, extra, ..NewError::at(what, stack, address) });
    }

    /// The node of the caller's stack, whatever is being imported.
    pub(super) fn node(&self, guard: &Guard, caller: Caller) -> Option<NodeId> {
        if let Some(slot) = guard.slot() {
            slot.keeps_imports = true;
        }
        let site = self.site(guard, caller);
        if let Some(slot) = guard.slot() {
            slot.keeps_imports = false;
        }
        sites::node(&self.arena, site?)
    }

    /// Whether any of these was counted.
    fn has_lost(&self, losses: &[Loss]) -> bool {
        losses.iter().any(|&loss| self.count_of(loss) != 0)
    }

    fn count_of(&self, loss: Loss) -> u64 {
        self.arena.header().losses[loss as usize].load(Relaxed)
    }

    fn count_unknown_free(&self) {
        if self.sample_interval() == 0 {
            let loss = if is_forked() { Loss::InheritedFree } else { Loss::UnknownFree };
            self.arena.lose(loss);
        }
    }
}
