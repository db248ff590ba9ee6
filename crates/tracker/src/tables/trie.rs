//! The stack trie: one node per frame and its callers, found by a hash of the whole path.
//!
//! Nodes stand densely in their region; an open-addressed index of node numbers leads from a path's hash to its node. The
//! index is not in the arena: nobody else needs it, and one that was outgrown can be given back.
//!
//! Inserting takes no lock. Two threads that meet may both insert the same path, and a path may be inserted again while
//! the index grows: the reader merges equal paths, so a duplicate costs 24 bytes and nothing else.

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use heaplens_format::arena::frame::frame_word;
use heaplens_format::arena::python::FRAME_INTERN_MODULE;
use heaplens_format::arena::table::NodeRecord;
use heaplens_format::arena::{NODE_SIZE, Region};
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};
use heaplens_format::{NodeId, SiteId};

use super::arena::Arena;
use super::sites;
use super::slot_id::SlotId;
use super::trie_names::Names;
use crate::process::clock::timed;
use crate::sys;

/// The hash of the empty path.
pub const ROOT_HASH: u64 = 0x9e37_79b9_7f4a_7c15;

/// log2 of the slots of the first index: 32 KiB, except where tests want it to grow at every turn.
const FIRST_BITS: u32 = if cfg!(feature = "interleave") { 3 } else { 13 };

/// Of the word that names an index: the part that has its size.
const BITS: u64 = 0xff;

/// From this length on an index asks for large pages.
const LARGE_PAGE: usize = 2 << 20;

/// How far ahead of a node its slot is asked for: some lines can be on their way at once.
const AHEAD: u64 = 12;

/// The hash of a path from that of its callers and its innermost frame. Never 0, which marks an unwritten node.
#[inline(always)]
pub fn extend_hash(callers: u64, frame: u64) -> u64 {
    let product = u128::from(callers.rotate_left(5) ^ frame) * 0x9e37_79b9_7f4a_7c15;
    ((product as u64) ^ (product >> 64) as u64) | 1
}

/// An entry of the index: a node, and some bits of its hash, so that most other nodes need not be read, each of which
/// would be a miss of the caches.
///
/// ```text
///   │ 31 … 27 bits of the hash │ 26 … 0 node │
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u32);

impl Slot {
    const NODE_BITS: u32 = 27;

    #[inline(always)]
    const fn new(node: NodeId, hash: u64) -> Self {
        Self(Self::tag(hash) << Self::NODE_BITS | node.get())
    }

    /// Bits that have no part in the position of the entry; the lowest one is always set.
    #[inline(always)]
    const fn tag(hash: u64) -> u32 {
        (hash >> 1) as u32 & 31
    }

    #[inline(always)]
    const fn may_be(self, hash: u64) -> bool {
        self.0 >> Self::NODE_BITS == Self::tag(hash)
    }

    #[inline(always)]
    const fn number(self) -> NodeId {
        NodeId::new(self.0 & ((1 << Self::NODE_BITS) - 1))
    }
}

/// Asks for a line of the caches.
#[inline(always)]
fn ask_for(slot: &AtomicU32) {
    // SAFETY: a hint, which reads nothing and faults nowhere.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *slot).cast()) };
}

/// The trie of an arena.
#[derive(Debug)]
pub struct Trie {
    /// Its address, which is a page's, with log2 of its slots in the lowest bits; 0 before the first insertion.
    index: AtomicU64,
    growing: AtomicBool,
    /// Whether any stack has another name.
    has_names: AtomicBool,
    names: Names,
}

impl Default for Trie {
    fn default() -> Self {
        Self::new()
    }
}

impl Trie {
    /// An empty trie.
    pub const fn new() -> Self {
        Self {
            index: AtomicU64::new(0),
            growing: AtomicBool::new(false),
            has_names: AtomicBool::new(false),
            names: Names::new(),
        }
    }

    /// Makes the root and the first index in a fresh arena. `false`: the arena is full.
    pub fn reset(&self, arena: &Arena) -> bool {
        self.growing.store(false, Relaxed);
        self.index.store(0, Relaxed);
        if self.has_names.swap(false, Relaxed) {
            self.names.clear();
        }
        if arena.take(Region::Nodes, NODE_SIZE as u64) != Some(0) {
            return false;
        }
        self.node(arena, NodeId::new(0)).hash.store(ROOT_HASH, Relaxed);
        self.new_index(arena, FIRST_BITS).is_some()
    }

    /// The node of a path.
    #[inline]
    pub fn find(&self, arena: &Arena, hash: u64) -> Option<NodeId> {
        // Acquire: pairs with the Release that published the index.
        let index = self.index.load(Acquire);
        let mut at = Self::home(hash);
        loop {
            let slot = Slot(self.slot(index, at).load(Acquire));
            if slot.0 == 0 {
                return None;
            }
            if slot.may_be(hash) && self.node(arena, slot.number()).hash.load(Relaxed) == hash {
                return Some(slot.number());
            }
            at = at.wrapping_add(1);
        }
    }

    /// Asks for the line of the caches that `find` will need: whoever does other things first does not wait for it.
    #[inline(always)]
    pub fn expect(&self, hash: u64) {
        let index = self.index.load(Relaxed);
        if index != 0 {
            ask_for(self.slot(index, Self::home(hash)));
        }
    }

    /// Inserts the path `parent` + `frame`. `None`: the arena is full.
    pub fn insert(&self, arena: &Arena, parent: NodeId, frame: u64, hash: u64) -> Option<NodeId> {
        let offset = arena.take(Region::Nodes, NODE_SIZE as u64)?;
        let number = NodeId::new(u32::try_from(offset / NODE_SIZE).ok()?);
        if number.get() >> Slot::NODE_BITS != 0 {
            return None;
        }
        let node = self.node(arena, number);
        node.frame.store(frame, Relaxed);
        node.parent.store(parent.get(), Relaxed);
        // Release: whoever reads the hash reads a whole node.
        node.hash.store(hash, Release);
        self.make_room(arena, number);
        let index = self.index.load(Acquire);
        if u64::from(number.get()) >= Self::most_nodes(index) {
            // While another thread makes room the node stays out of the index, and its path is inserted again next time;
            // when there is no room to be had, that is the end of new paths.
            return (!arena.is_full()).then_some(number);
        }
        Some(self.enter(arena, index, number, hash))
    }

    /// Puts a node into the index; the answer is the node that stands for the path, which may be another thread's.
    fn enter(&self, arena: &Arena, index: u64, number: NodeId, hash: u64) -> NodeId {
        let mut at = Self::home(hash);
        let new = Slot::new(number, hash);
        loop {
            let slot = self.slot(index, at);
            // AcqRel: publishes the node, and on failure shows the other's.
            let Err(other) = slot.compare_exchange(0, new.0, AcqRel, Acquire) else { return number };
            let other = Slot(other);
            if other.may_be(hash) && self.node(arena, other.number()).hash.load(Relaxed) == hash {
                return other.number();
            }
            at = at.wrapping_add(1);
        }
    }

    /// Makes a larger index when this one is five eighths full. One thread does it, the others go on with the old one.
    fn make_room(&self, arena: &Arena, newest: NodeId) {
        if u64::from(newest.get()) < Self::fits(Self::slots(self.index.load(Acquire)))
            || self.growing.swap(true, AcqRel)
        {
            return;
        }
        // Checked again, now that nobody else can change it: it may be another one by now, and large enough.
        let old = self.index.load(Acquire) & BITS;
        let nodes = Self::nodes(arena);
        let bits = (old..).find(|&bits| nodes < Self::fits(1 << bits)).unwrap_or(old);
        if bits != old {
            timed(&arena.header().hook_ticks, || self.new_index(arena, bits as u32));
        }
        self.growing.store(false, Release);
    }

    #[cold]
    fn new_index(&self, arena: &Arena, bits: u32) -> Option<()> {
        let Some(pages) = sys::private_pages(Self::length(bits)) else {
            arena.set_full();
            return None;
        };
        let index = pages as u64 | u64::from(bits);
        if Self::length(bits) >= LARGE_PAGE {
            // Every search reads another page: with small ones the processor must find out where they are, each time. All of
            // them would be touched soon in any case.
            let _ = sys::advise(pages, Self::length(bits), libc::MADV_HUGEPAGE);
        }
        self.fill(arena, index);
        arena.header().private_bytes.fetch_add(Self::length(bits) as u64, Relaxed);
        // AcqRel: the index is filled. Nodes entered meanwhile into the old one are found no more: duplicates.
        Self::give_back(arena, self.index.swap(index, AcqRel));
        Some(())
    }

    /// Enters all nodes into a new index, whose lines are asked for some nodes ahead.
    fn fill(&self, arena: &Arena, index: u64) {
        // Others went on inserting since its size was chosen.
        let count = Self::nodes(arena).min(Self::most_nodes(index));
        let hash = |number: u64| self.node(arena, NodeId::new(number as u32)).hash.load(Acquire);
        for number in 1..count {
            if number + AHEAD < count {
                ask_for(self.slot(index, Self::home(hash(number + AHEAD))));
            }
            let hash = hash(number);
            if hash != 0 {
                self.enter(arena, index, NodeId::new(number as u32), hash);
            }
        }
    }

    /// Gives the memory of an index back. Its addresses stay taken: a thread that still searches there finds nothing, and
    /// what it enters there is found by nobody, which makes a duplicate.
    fn give_back(arena: &Arena, index: u64) {
        if index != 0 {
            let length = Self::length((index & BITS) as u32);
            let _ = sys::advise((index & !BITS) as usize, length, libc::MADV_DONTNEED);
            arena.header().private_bytes.fetch_sub(length as u64, Relaxed);
        }
    }

    /// The bytes of an index.
    const fn length(bits: u32) -> usize {
        if bits < 10 { 4096 } else { 4 << bits }
    }

    /// The node one frame further in, found or made, and its hash. When the arena is full the path ends early.
    pub fn extend(&self, arena: &Arena, node: NodeId, hash: u64, frame: u64) -> (NodeId, u64) {
        let hash = extend_hash(hash, frame);
        let found = self.find(arena, hash);
        let next = found.or_else(|| self.insert(arena, node, frame, hash));
        (next.unwrap_or(node), hash)
    }

    /// The node one frame further in, for whoever knows the node alone.
    pub fn extend_node(&self, arena: &Arena, node: NodeId, frame: u64) -> NodeId {
        let hash = self.node(arena, node).hash.load(Relaxed);
        self.extend(arena, node, hash, frame).0
    }

    /// The frame of a node.
    pub fn frame(&self, arena: &Arena, node: NodeId) -> u64 {
        self.node(arena, node).frame.load(Relaxed)
    }

    /// The node of the caller; `None`: it is the root.
    fn caller(&self, arena: &Arena, node: NodeId) -> Option<NodeId> {
        let parent = self.node(arena, node).parent.load(Relaxed);
        (parent != 0).then(|| NodeId::new(parent))
    }

    /// The frames of a path, innermost first.
    pub fn frames(&self, arena: &Arena, node: NodeId) -> impl Iterator<Item = u64> {
        let innermost = (node.get() != 0).then_some(node);
        core::iter::successors(innermost, move |&node| self.caller(arena, node))
            .map(|node| self.frame(arena, node))
    }

    /// Keeps a word under a hash that is no path's.
    pub fn intern(&self, arena: &Arena, word: u64, hash: u64) -> Option<NodeId> {
        self.insert(arena, NodeId::new(0), word, hash)
    }

    /// Keeps the site of a stack under another name of that stack.
    pub fn alias(&self, arena: &Arena, hash: u64, site: SiteId) {
        if let Some(node) = self.intern(arena, frame_word(FRAME_INTERN_MODULE, 0), hash) {
            self.node(arena, node).site.store(site.get(), Relaxed);
        }
        if !self.has_names.load(Relaxed) && !self.has_names.swap(true, Relaxed) {
            arena.header().private_bytes.fetch_add(size_of::<Names>() as u64, Relaxed);
        }
        self.names.add(hash);
    }

    /// The site that has this other name.
    #[inline]
    pub fn aliased(&self, arena: &Arena, hash: u64) -> Option<SiteId> {
        // Another thread's name that is not seen yet is given once more.
        if !self.names.may_hold(hash) {
            return None;
        }
        let site = self.node(arena, self.find(arena, hash)?).site.load(Relaxed);
        (site != 0).then(|| SiteId::new(site)) // 0: another thread has inserted the name and not yet the site
    }

    /// The site of a node, where it has one.
    pub fn known_site(&self, arena: &Arena, node: NodeId) -> Option<SiteId> {
        let site = self.node(arena, node).site.load(Acquire);
        (site != 0).then(|| SiteId::new(site))
    }

    /// The site of a node, made at its first allocation.
    #[inline]
    pub fn site(&self, arena: &Arena, node: NodeId, slot: SlotId) -> Option<SiteId> {
        let word = &self.node(arena, node).site;
        // Acquire: pairs with the Release in `sites::create` by way of the exchange below.
        match word.load(Acquire) {
            0 => {
                let site = sites::create(arena, node, slot)?;
                match word.compare_exchange(0, site.get(), AcqRel, Acquire) {
                    Ok(_) => Some(site),
                    Err(other) => Some(SiteId::new(other)),
                }
            }
            site => Some(SiteId::new(site)),
        }
    }

    #[inline(always)]
    fn node<'a>(&self, arena: &'a Arena, number: NodeId) -> &'a NodeRecord {
        // SAFETY: numbers come from `insert` or from the index, which holds only such numbers.
        unsafe { arena.record(Region::Nodes, number.get() as usize * NODE_SIZE) }
    }

    #[inline(always)]
    fn slot(&self, index: u64, at: u64) -> &AtomicU32 {
        let position = (at & (Self::slots(index) - 1)) as usize;
        // SAFETY: `new_index` made the index with `slots` words, and they stay mapped for ever.
        unsafe { &*((index & !BITS) as *const AtomicU32).add(position) }
    }

    /// Nodes that were taken, some of which may not be written yet.
    fn nodes(arena: &Arena) -> u64 {
        let extent = arena.extent(Region::Nodes);
        extent.used.load(Relaxed).min(extent.reserved.load(Acquire)) / NODE_SIZE as u64
    }

    #[inline(always)]
    fn slots(index: u64) -> u64 {
        1 << (index & BITS)
    }

    /// How many nodes an index takes before there is a larger one.
    const fn fits(slots: u64) -> u64 {
        slots / 8 * 5
    }

    /// Only nodes with a smaller number may stand in an index: `find` and `enter` end at a free slot.
    fn most_nodes(index: u64) -> u64 {
        Self::slots(index) / 4 * 3
    }

    #[inline(always)]
    fn home(hash: u64) -> u64 {
        hash >> 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use std::collections::HashMap;
    use std::vec::Vec;

    #[test]
    fn a_million_paths_are_found_again_after_the_index_grew() {
        let (arena, trie) = (scratch(), Trie::new());
        assert!(trie.reset(&arena));
        let mut model = HashMap::new();
        for frame in 0..1_000_000u64 {
            let (parent, callers) = model.get(&(frame / 3)).copied().unwrap_or((NodeId::new(0), ROOT_HASH));
            let hash = extend_hash(callers, frame);
            assert_eq!(trie.find(&arena, hash), None);
            let node = trie.insert(&arena, parent, frame, hash).unwrap();
            model.insert(frame, (node, hash));
        }
        assert!(model.values().all(|&(node, hash)| trie.find(&arena, hash) == Some(node)));
        let (node, _) = model[&999_999];
        let parent = trie.node(&arena, node).parent.load(Relaxed);
        assert_eq!(parent, model[&333_333].0.get());
    }

    #[test]
    fn threads_that_insert_the_same_paths_agree_on_what_they_say() {
        let (arena, trie) = (scratch(), Trie::new());
        assert!(trie.reset(&arena));
        let chains: Vec<Vec<NodeId>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (1..50_000u64)
                            .map(|frame| {
                                let hash = extend_hash(ROOT_HASH, frame);
                                let known = trie.find(&arena, hash);
                                known.or_else(|| trie.insert(&arena, NodeId::new(0), frame, hash)).unwrap()
                            })
                            .collect()
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        for chain in chains {
            for (frame, node) in (1..).zip(chain) {
                assert_eq!(trie.node(&arena, node).frame.load(Relaxed), frame);
            }
        }
    }
}
