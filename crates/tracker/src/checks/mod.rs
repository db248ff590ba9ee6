//! What is done to find memory errors besides watching calls: canaries behind blocks, a quarantine of freed ones, and blocks with guard pages.
//! Active only where somebody asked for it ([`heaplens_format::environment::Checks`]); without, a hook reads one word. It owns the memory
//! around blocks; which block has what, and what is reported, is decided in `events::checks`.
//!
//! Every block that a hook of ours gave out has a canary, and no other: what is not in the block table is not checked. Where C++'s operators
//! are somebody's own, theirs have none.

pub mod canary;
mod guard_pages;
mod guard_slot;
mod guarded_code;
pub mod instruction;
mod limits;
pub mod quarantine;
mod slot_queue;

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};

use heaplens_format::Bytes;
use heaplens_format::arena::Family;
use heaplens_format::environment::{self, Guarding};

pub use guard_pages::{GuardPages, Guarded, Refusal, SlotState};
pub use guard_slot::GuardSlot;
pub use guarded_code::GuardedCode;
use quarantine::Quarantine;

/// The checks of this process.
#[derive(Debug)]
pub struct Checks {
    /// Whether blocks may have a canary, or a guard.
    is_on: AtomicBool,
    has_canaries: AtomicBool,
    /// Families whose blocks have a canary besides `malloc`'s own, as bits. Zero at first, as all that is here: it takes no room in the file.
    families: AtomicU32,
    /// Families whose blocks never have one, as bits.
    refused: AtomicU32,
    /// Freed blocks.
    pub quarantine: Quarantine,
    /// Guarded blocks.
    pub guards: GuardPages,
    /// The code whose blocks are guarded.
    pub code: GuardedCode,
}

impl Default for Checks {
    fn default() -> Self {
        Self::new()
    }
}

impl Checks {
    /// Nothing is checked.
    pub const fn new() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            has_canaries: AtomicBool::new(false),
            families: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            quarantine: Quarantine::new(),
            guards: GuardPages::new(),
            code: GuardedCode::new(),
        }
    }

    /// Begins, in a process that has no other thread: before the first block.
    pub fn start(&self, wanted: &environment::Checks, code: &'static [u8]) {
        let has_guards = wanted.guarding != Guarding::None && self.guards.open();
        if wanted.guarding == Guarding::Lines {
            self.code.read(code);
        }
        self.has_canaries.store(wanted.canaries, Relaxed);
        self.quarantine.reset(Bytes::new(if wanted.canaries { wanted.quarantine } else { 0 }));
        self.is_on.store(wanted.canaries || has_guards, Relaxed);
    }

    /// In a forked child, before its first block. Its parent's freed blocks stay where they are.
    pub fn on_fork(&self, wanted: &environment::Checks) {
        if self.is_on() {
            self.quarantine.reset(Bytes::new(if wanted.canaries { wanted.quarantine } else { 0 }));
            self.guards.on_fork();
            self.code.forget();
        }
    }

    /// Whether blocks may have a canary, or a guard.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Whether blocks have a canary.
    pub fn has_canaries(&self) -> bool {
        self.has_canaries.load(Relaxed)
    }

    /// Whether a block of this family has a canary.
    pub fn has_canary(&self, family: Family) -> bool {
        (self.families_with_canary() >> (family as u32)) & 1 == 1
    }

    /// Families whose blocks have a canary, as bits.
    pub fn families_with_canary(&self) -> u32 {
        if self.has_canaries() { self.families.load(Relaxed) | 1 << Family::Malloc as u32 } else { 0 }
    }

    /// Whether blocks of these families come from our `malloc` and its kin, so that there is room for a canary. It is false where not all
    /// of them do.
    pub(crate) fn trust(&self, families: &[Family], are_trusted: bool) {
        let bits = families.iter().fold(0, |bits, &family| bits | 1 << family as u32);
        match are_trusted {
            true => self.families.fetch_or(bits & !self.refused.load(Relaxed), Relaxed),
            false => self.families.fetch_and(!bits, Relaxed),
        };
    }

    /// A block of this family was given out without a canary: none of them can be checked, now or later.
    #[cold]
    pub(crate) fn refuse(&self, family: Family) {
        self.refused.fetch_or(1 << family as u32, Relaxed);
        self.trust(&[family], false);
    }
}
