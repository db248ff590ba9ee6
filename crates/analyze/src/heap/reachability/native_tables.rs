//! Objects that only tables of native code lead to, and that nobody holds. Extension modules keep tables of the objects that they have
//! made and count no reference for them: pybind11's of its instances, protobuf's of its messages. What such a table leads to would look
//! reachable for ever, with all that it is in a cycle with. So the collector's own question is asked of objects that roots lead to through
//! native memory alone: whether other such objects explain all references that they count.
//!
//! ```text
//!   root ─▶ module ─▶ object ─▶ dict ─▶ object        these are reachable, whatever they count
//!   root ─▶ native block ─▶ object ⇄ object           counts explained: nobody holds them
//!   root ─▶ native block ─▶ object, counts one more   native code holds it, and what it leads to
//! ```

use super::block_state::{BlockState, IMMORTAL, ReferenceCounts};
use crate::heap::memory::{BlockId, BlockSet};
use crate::heap::scan::{Edge, Graph};

/// The search.
pub(super) struct NativeTables<'a, O> {
    pub(super) graph: &'a Graph,
    pub(super) objects: &'a O,
    /// Where every pointer counts.
    pub(super) states: &'a [BlockState],
}

/// What tables of native code lead to, in order.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Objects that nobody holds.
    pub(super) not_held: Vec<BlockId>,
    /// Objects that native code holds: they count more references than other objects have to them.
    pub(super) held: Vec<BlockId>,
}

impl<O: ReferenceCounts> NativeTables<'_, O> {
    /// The objects that roots lead to through native memory alone, and what becomes of them.
    pub(super) fn objects(&self) -> Listed {
        let (graph, objects) = (self.graph, self.objects);
        let roots = graph.roots().all().iter().map(|root| root.edge.block());
        let held = self.held_by(roots.filter(|&block| objects.is_object(block)), BlockSet::default());
        let is_open = |block: &BlockId| {
            self.is(*block, BlockState::Reached) && objects.is_object(*block) && !held.contains(*block)
        };
        let open: Vec<BlockId> = graph.blocks().ids().filter(is_open).collect();
        if open.is_empty() {
            return Listed::default();
        }
        let known = self.known_references(&open);
        let is_counted_elsewhere = |block: &BlockId| {
            let block = *block;
            let known = u64::from(known[block.index()]) + u64::from(graph.own_references(block));
            objects.references(block).is_none_or(|count| count > known || count >= IMMORTAL)
        };
        let by_native_code: Vec<BlockId> = open.iter().copied().filter(is_counted_elsewhere).collect();
        let held = self.held_by(by_native_code.iter().copied(), held);
        let not_held: Vec<BlockId> = open.into_iter().filter(|&block| !held.contains(block)).collect();
        // What the collector does not know is garbage only where other garbage leads to it.
        let has_garbage = || graph.blocks().ids().any(|block| self.is(block, BlockState::Garbage));
        let matters = not_held.iter().any(|&block| graph.is_tracked(block)) || has_garbage();
        if matters { Listed { not_held, held: by_native_code } } else { Listed::default() }
    }

    fn is(&self, block: BlockId, state: BlockState) -> bool {
        self.states[block.index()] == state
    }

    /// These blocks and what they lead to through objects and through memory that is an object's own, beside what is known as held.
    fn held_by(&self, blocks: impl Iterator<Item = BlockId>, mut held: BlockSet) -> BlockSet {
        let mut open: Vec<BlockId> = Vec::new();
        let mut hold = |block: BlockId, open: &mut Vec<BlockId>| {
            if !held.contains(block) {
                held.insert(block);
                open.push(block);
            }
        };
        blocks.for_each(|block| hold(block, &mut open));
        while let Some(block) = open.pop() {
            let leads_to_own = self.objects.is_plain(block);
            for edge in self.graph.edges(block) {
                if leads_to_own || self.objects.is_object(edge.block()) {
                    hold(edge.block(), &mut open);
                }
            }
        }
        held
    }

    /// By block: the references to it from these objects, from memory that is their own, and from garbage.
    fn known_references(&self, open: &[BlockId]) -> Vec<u32> {
        let graph = self.graph;
        let mut known = vec![0u32; graph.blocks().len()];
        // The collector sees no reference to an object that it knows in one that it does not know.
        let mut count = |edges: &[Edge], is_unknown: bool| {
            let is_seen =
                |edge: &&Edge| graph.is_reference(**edge) && !(is_unknown && graph.is_tracked(edge.block()));
            for edge in edges.iter().filter(is_seen) {
                let known = &mut known[edge.block().index()];
                *known = known.saturating_add(1);
            }
        };
        let is_unknown = |block: BlockId| self.objects.is_object(block) && !graph.is_tracked(block);
        let mut seen = BlockSet::default();
        for &block in open {
            count(graph.edges(block), is_unknown(block));
            let own =
                graph.targets(block).filter(|&target| self.objects.is_plain(block) && self.is_own(target));
            for target in own {
                if !seen.contains(target) {
                    seen.insert(target);
                    count(graph.edges(target), false);
                }
            }
        }
        let garbage = graph.blocks().ids().filter(|&block| self.is(block, BlockState::Garbage));
        garbage.for_each(|block| count(graph.edges(block), is_unknown(block)));
        known
    }

    /// Whether what a plain object points to is memory of its own: what garbage has is counted there.
    fn is_own(&self, block: BlockId) -> bool {
        !self.objects.is_object(block) && !self.is(block, BlockState::Garbage)
    }
}
