//! Whether a program can still reach a block, in the terms of Memcheck:
//!
//! ```text
//!   still reachable   a chain of pointers to starts leads from a root to it
//!   possibly lost     a chain leads to it, and somewhere in it a pointer goes into the middle of a block
//!   indirectly lost   only lost blocks point to it
//!   definitely lost   nothing does; of lost blocks in a ring, the first one
//! ```

use std::collections::{BTreeMap, HashMap};

use heaplens_format::Bytes;
use heaplens_format::recording::{Amount, LeakKind, LostSite};

use crate::heap::memory::BlockId;
use crate::heap::scan::{BasePointers, Edge, Graph};

/// The kind of every block.
#[derive(Debug, PartialEq, Eq)]
pub struct LeakKinds {
    kinds: Vec<LeakKind>,
    /// What is lost with each definitely lost block.
    indirect: HashMap<BlockId, Amount>,
}

impl LeakKinds {
    /// Follows every edge a few times at most.
    pub fn of(graph: &Graph) -> Self {
        Self::with(graph, |_| false)
    }

    /// The same; blocks that `is_given` are reachable whatever leads to them.
    pub fn with(graph: &Graph, is_given: impl Fn(BlockId) -> bool) -> Self {
        let mut kinds: Vec<Option<LeakKind>> = vec![None; graph.blocks().len()];
        mark_reachable(graph, is_given, &mut kinds);
        mark_possible(graph, &mut kinds);
        let indirect = divide_lost(graph, &mut kinds);
        let kinds = kinds.into_iter().map(|kind| kind.unwrap_or(LeakKind::DefinitelyLost)).collect();
        Self { kinds, indirect }
    }

    /// Counts pointers to bases as pointers to the start: from roots, and from blocks that are still reachable. What is possibly lost and can
    /// be reached by them is still reachable.
    pub fn promote(&mut self, graph: &Graph, bases: &BasePointers) {
        let is_reachable = |block: &BlockId| self.get(*block) == LeakKind::StillReachable;
        let from_blocks = bases.blocks.iter().filter(|(from, _)| is_reachable(from));
        let mut open: Vec<BlockId> = from_blocks.flat_map(|(_, targets)| targets).copied().collect();
        open.extend(&bases.roots);
        self.follow(graph, bases, open);
    }

    /// Counts all pointers of some blocks as pointers to the start: their types say that they are pointers.
    pub fn promote_from(&mut self, graph: &Graph, is_typed: impl Fn(BlockId) -> bool) {
        let is_typed = |block: &BlockId| self.get(*block) == LeakKind::StillReachable && is_typed(*block);
        let from = graph.blocks().ids().filter(is_typed);
        let is_possible = |block: &BlockId| self.get(*block) == LeakKind::PossiblyLost;
        let open: Vec<BlockId> = from.flat_map(|block| graph.targets(block)).filter(is_possible).collect();
        self.follow(graph, &BasePointers::default(), open);
    }

    /// What these lead to is still reachable, where it is possibly lost.
    fn follow(&mut self, graph: &Graph, bases: &BasePointers, mut open: Vec<BlockId>) {
        while let Some(block) = open.pop() {
            if self.get(block) != LeakKind::PossiblyLost {
                continue;
            }
            self.kinds[block.index()] = LeakKind::StillReachable;
            let to_starts = graph.edges(block).iter().filter(|edge| graph.is_to_start(**edge));
            open.extend(to_starts.map(|edge| edge.block()));
            open.extend(bases.blocks.get(&block).into_iter().flatten());
        }
    }

    /// Of one block.
    pub fn get(&self, block: BlockId) -> LeakKind {
        self.kinds[block.index()]
    }

    /// What is lost with a block.
    pub fn indirect(&self, block: BlockId) -> Amount {
        self.indirect.get(&block).copied().unwrap_or_default()
    }

    /// Blocks that are wanted, by kind and by the site that allocated them, sorted.
    pub fn sites(&self, graph: &Graph, is_wanted: impl Fn(BlockId) -> bool) -> Vec<LostSite> {
        let mut sites: BTreeMap<(LeakKind, u32), (Amount, Amount)> = BTreeMap::new();
        for id in graph.blocks().ids().filter(|&id| is_wanted(id)) {
            let block = graph.blocks().get(id);
            let (direct, indirect) = sites.entry((self.get(id), block.site)).or_default();
            *direct += Amount { bytes: block.size, blocks: 1 };
            *indirect += self.indirect(id);
        }
        let site = |((kind, site), (direct, indirect))| LostSite { site, kind, direct, indirect };
        sites.into_iter().map(site).collect()
    }
}

/// What roots point to, and whatever can be reached from there by pointers to starts.
fn mark_reachable(graph: &Graph, is_given: impl Fn(BlockId) -> bool, kinds: &mut [Option<LeakKind>]) {
    let from_roots = graph.roots().all().iter().map(|root| root.edge);
    let mut open = Frontier::new(LeakKind::StillReachable);
    open.take(from_roots.filter(|edge| graph.is_to_start(*edge)).chain(given(graph, is_given)), kinds);
    open.follow(graph, kinds, |edge| graph.is_to_start(edge));
}

/// What Python's collector knows, and what is given.
fn given(graph: &Graph, is_given: impl Fn(BlockId) -> bool) -> impl Iterator<Item = Edge> {
    let given = graph.blocks().ids().filter(move |&block| graph.is_tracked(block) || is_given(block));
    given.map(|block| Edge::new(block, Bytes::ZERO))
}

/// What else can be reached. What reachable blocks point to by starts is known already.
fn mark_possible(graph: &Graph, kinds: &mut [Option<LeakKind>]) {
    let mut open = Frontier::new(LeakKind::PossiblyLost);
    open.take(graph.roots().all().iter().map(|root| root.edge), kinds);
    for block in graph.blocks().ids() {
        let edges = graph.edges(block);
        if edges.iter().any(|edge| !edge.is_plain()) && kinds[block.index()] == Some(LeakKind::StillReachable)
        {
            open.take(edges.iter().copied(), kinds);
        }
    }
    open.follow(graph, kinds, |_| true);
}

/// Blocks that were taken and whose pointers are to be followed. All that are open are gone through before those that they
/// open, and one step is done for many of them before the next: the processor fetches the pointers of many blocks at once, which
/// from a stack, where each block waits for the one before, it cannot.
struct Frontier {
    kind: LeakKind,
    next: Vec<BlockId>,
    targets: Vec<BlockId>,
}

/// Blocks whose pointers are fetched together.
const BATCH: usize = 64;

impl Frontier {
    fn new(kind: LeakKind) -> Self {
        Self { kind, next: Vec::new(), targets: Vec::new() }
    }

    fn take(&mut self, edges: impl Iterator<Item = Edge>, kinds: &mut [Option<LeakKind>]) {
        self.targets.clear();
        self.targets.extend(edges.map(Edge::block));
        self.take_targets(kinds);
    }

    fn follow(&mut self, graph: &Graph, kinds: &mut [Option<LeakKind>], counts: impl Fn(Edge) -> bool) {
        let mut level = Vec::new();
        while !self.next.is_empty() {
            level.clear();
            std::mem::swap(&mut level, &mut self.next);
            for batch in level.chunks(BATCH) {
                let mut ranges = [const { 0..0 }; BATCH];
                ranges.iter_mut().zip(batch).for_each(|(range, block)| *range = graph.range(*block));
                self.targets.clear();
                for range in &ranges[..batch.len()] {
                    let edges = graph.edges_of(range).iter().filter(|edge| counts(**edge));
                    self.targets.extend(edges.map(|edge| edge.block()));
                }
                self.take_targets(kinds);
            }
        }
    }

    /// Without a branch: whether a block is known cannot be foreseen.
    fn take_targets(&mut self, kinds: &mut [Option<LeakKind>]) {
        let mut end = self.next.len();
        self.next.resize(end + self.targets.len(), BlockId::new(0));
        for &target in &self.targets {
            let known = &mut kinds[target.index()];
            self.next[end] = target;
            end += usize::from(known.is_none());
            *known = known.or(Some(self.kind));
        }
        self.next.truncate(end);
    }
}

/// Every lost block, in the order of addresses, takes whatever can be reached from it and is not taken yet. A later one may
/// reach an earlier one, never the reverse: so the later ones go first when the blocks are divided for good. (Memcheck
/// divides once: where two blocks point to each other and a third to the later of them, it calls the first definitely lost.)
fn divide_lost(graph: &Graph, kinds: &mut [Option<LeakKind>]) -> HashMap<BlockId, Amount> {
    let lost: Vec<BlockId> = graph.blocks().ids().filter(|block| kinds[block.index()].is_none()).collect();
    let mut tops = Vec::new();
    for &block in &lost {
        if kinds[block.index()].is_none() {
            take_lost(graph, block, kinds);
            tops.push(block);
        }
    }
    for &block in &lost {
        kinds[block.index()] = None;
    }
    let mut lost_with = HashMap::new();
    for top in tops.into_iter().rev() {
        if kinds[top.index()].is_none() {
            let amount = take_lost(graph, top, kinds);
            kinds[top.index()] = Some(LeakKind::DefinitelyLost);
            lost_with.insert(top, amount);
        }
    }
    lost_with
}

/// Takes whatever can be reached from a lost block and is not taken yet: so much was lost with it.
fn take_lost(graph: &Graph, top: BlockId, kinds: &mut [Option<LeakKind>]) -> Amount {
    let (mut sum, mut open) = (Amount::default(), vec![top]);
    kinds[top.index()] = Some(LeakKind::IndirectlyLost);
    while let Some(block) = open.pop() {
        for target in graph.targets(block) {
            if kinds[target.index()].is_none() {
                kinds[target.index()] = Some(LeakKind::IndirectlyLost);
                sum += Amount { bytes: graph.blocks().get(target).size, blocks: 1 };
                open.push(target);
            }
        }
    }
    sum
}
