//! One event of the program, from the hook's guard to the tables.
//!
//! It owns the tables of this process and the order in which an event touches them. It never decides whether a real
//! function is called; that is the agent's.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::{Family, Pseudo};
use heaplens_format::{Addr, Bytes, Loss, NodeId, SiteId};

use crate::arena::Arena;
use crate::blocks::{Block, Blocks};
use crate::cost::{Timer, stop_clock, ticks};
use crate::mappings;
use crate::process::{self, Life};
use crate::sampling;
use crate::seat::{Guard, Seat};
use crate::sites::{self, Space, Weight};
use crate::sys;
use crate::trie::{ROOT_HASH, Trie, extend_hash};
use crate::unwind::memo::TooDeep;
use crate::unwind::walk::{cut_reason, walk};
use crate::unwind::{Caller, Unwinder, stacks};

/// Frames that are kept of a stack that is walked without a memo: coroutines, ending threads, stacks too deep.
const PLAIN_DEPTH: usize = 192;

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
    /// Mean distance of samples; 0: exact.
    pub interval: AtomicU64,
}

static TRACKER: Tracker = Tracker {
    arena: Arena::new(),
    blocks: Blocks::new(),
    trie: Trie::new(),
    unwinder: Unwinder::new(),
    interval: AtomicU64::new(0),
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
            timer.stop(&self.arena);
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
        let node = self.plain_stack(guard, caller, Some(kind.pseudo()));
        match self.trie.site(&self.arena, node, guard.seat_id()) {
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

    /// A library may have been unloaded.
    pub fn on_unload(&self) {
        self.unwinder.on_unload();
    }

    #[inline]
    fn is_sampled(&self, guard: &Guard, size: Bytes, interval: u64) -> bool {
        match guard.seat() {
            Some(seat) => seat.distance.passes(size, interval),
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
        sites::on_alloc(&self.arena, site, guard.seat_id(), self.weight(size), Space::Heap);
    }

    #[inline(always)]
    fn count_free(&self, guard: &Guard, block: Block) {
        sites::on_free(&self.arena, block.site, guard.seat_id(), self.weight(block.size), Space::Heap);
    }

    #[cold]
    fn count_unknown_free(&self) {
        if self.sample_interval() == 0 {
            let loss = if process::is_forked() { Loss::InheritedFree } else { Loss::UnknownFree };
            self.arena.lose(loss);
        }
    }

    /// The site of the caller's stack.
    #[inline]
    fn site(&self, guard: &Guard, caller: Caller) -> Option<SiteId> {
        self.unwinder.check_suspicion();
        if let Some(seat) = guard.seat()
            && let Some(end) = seat.own_stack_end(caller.rsp)
            && caller.rsp > seat.too_deep_below
        {
            match seat.memo.capture(&self.unwinder, &self.arena, caller, end) {
                Ok(()) => return self.site_of_memo(seat),
                Err(TooDeep) => seat.too_deep_below = caller.rsp,
            }
        }
        let node = self.plain_stack(guard, caller, None);
        self.trie.site(&self.arena, node, guard.seat_id())
    }

    #[inline]
    fn site_of_memo(&self, seat: &mut Seat) -> Option<SiteId> {
        let id = seat.id();
        if let Some(grown) = seat.memo.newly_resident() {
            self.arena.header().private_bytes.fetch_add(grown, Relaxed);
        }
        let (hash, known) = seat.memo.frames().last().map_or((0, 0), |top| (top.hash, top.site));
        if known != 0 {
            return Some(SiteId::new(known));
        }
        let site = match seat.memo.kept_site(hash) {
            Some(kept) => SiteId::new(kept),
            None => {
                let node = self.node_of_memo(seat);
                let site = self.trie.site(&self.arena, node, id)?;
                seat.memo.keep_site(hash, site.get());
                site
            }
        };
        if let Some(top) = seat.memo.frames().last_mut() {
            top.site = site.get();
        }
        Some(site)
    }

    /// The node of the memo's stack: nearly always known; else its unknown frames are inserted, outermost first.
    #[inline]
    fn node_of_memo(&self, seat: &mut Seat) -> NodeId {
        let bottom = seat.memo.bottom();
        let frames = seat.memo.frames();
        let mut known = frames.len();
        let mut node = NodeId::new(0);
        while known > 0 {
            let frame = &mut frames[known - 1];
            if frame.node == 0 {
                frame.node = self.trie.find(&self.arena, frame.hash).map_or(0, NodeId::get);
            }
            if frame.node != 0 {
                node = NodeId::new(frame.node);
                break;
            }
            known -= 1;
        }
        if known == 0 {
            node = self.bottom_node(bottom);
        }
        for frame in &mut frames[known..] {
            match self.trie.insert(&self.arena, node, frame.word, frame.hash) {
                Some(next) => node = next,
                None => return node, // full: the bytes stay exact, the stack ends early
            }
            frame.node = node.get();
        }
        node
    }

    /// The node that stands below an incomplete stack, or the root.
    fn bottom_node(&self, reason: Option<Pseudo>) -> NodeId {
        let root = NodeId::new(0);
        reason.map_or(root, |reason| self.extend(root, ROOT_HASH, reason.frame()).0)
    }

    /// The node one frame further in, found or made, and its hash.
    fn extend(&self, node: NodeId, hash: u64, frame: u64) -> (NodeId, u64) {
        let hash = extend_hash(hash, frame);
        let found = self.trie.find(&self.arena, hash);
        let next = found.or_else(|| self.trie.insert(&self.arena, node, frame, hash));
        (next.unwrap_or(node), hash)
    }

    /// Walks a stack without a memo. `ground` is what stands below everything: mappings have theirs.
    #[cold]
    #[inline(never)]
    fn plain_stack(&self, guard: &Guard, caller: Caller, ground: Option<Pseudo>) -> NodeId {
        let own = guard.seat().and_then(|seat| seat.own_stack_end(caller.rsp));
        let end = own.unwrap_or_else(|| stacks::end_of(caller.rsp));
        let (mut node, mut hash) = (NodeId::new(0), ROOT_HASH);
        if let Some(ground) = ground {
            (node, hash) = self.extend(node, hash, ground.frame());
        }
        if end < caller.rsp + 8 {
            return node; // no mapping holds the stack pointer: there is nothing to read
        }
        let mut frames = [0u64; PLAIN_DEPTH];
        let (count, outcome) = walk(&self.unwinder, &self.arena, caller, end, &mut frames);
        if let Some(reason) = cut_reason(outcome) {
            (node, hash) = self.extend(node, hash, reason.frame());
        }
        for &frame in frames[..count].iter().rev() {
            (node, hash) = self.extend(node, hash, frame);
        }
        node
    }
}

const fn page_round(length: Bytes) -> Bytes {
    Bytes::new(length.get().saturating_add(4095) & !4095)
}
