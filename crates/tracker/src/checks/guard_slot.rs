//! One place of the guarded range: where its block is, what became of it, and which stacks were there.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicUsize};

/// One slot.
#[derive(Debug)]
#[repr(C)]
pub struct GuardSlot {
    /// Where its block begins.
    pub(super) start: AtomicUsize,
    /// The size of its block.
    pub(super) size: AtomicUsize,
    pub(super) state: AtomicU32,
    /// Its first page.
    pub(super) page: AtomicU32,
    /// Pages without the guard.
    pub(super) pages: AtomicU32,
    /// The node of the stack that allocated its block, and of the one that freed it; 0: not known.
    pub allocated: AtomicU32,
    /// See above.
    pub freed: AtomicU32,
    /// The next one in a queue, plus 1.
    pub(super) next: AtomicU32,
    /// The program touched what it may not, and goes on with pages that it can touch.
    pub(super) is_open: AtomicU32,
    pub(super) unused: u32,
}

impl GuardSlot {
    /// Where its block begins.
    pub fn start(&self) -> usize {
        self.start.load(Relaxed)
    }
}
