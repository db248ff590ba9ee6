//! Python objects that no root leads to, and what becomes of them: garbage, which the collector frees, or objects that it leaves alone
//! because they have more references than there are pointers to them. It is what CPython's collector computes, in a heap that stands
//! still: of the references that an object counts, those that come from other unreachable memory are taken off; what is left was
//! taken by somebody who is not there any more.
//!
//! ```text
//!   roots ─▶ reachable      ┌─────────┐          ┌──────┐ counts 1, one pointer to it
//!                           │ counts 1│─▶ held   │ node │◀─┐
//!                           └─────────┘          └──────┘  │   garbage: a ring that counts no more references
//!                   overcounted: nobody            └───────┘            than there are pointers in it
//!                      points to it
//! ```
//!
//! Native memory may point to objects that it does not hold: see [`super::native_tables`].

use super::block_state::{BlockState, IMMORTAL, ReferenceCounts};
use super::native_tables::{Listed, NativeTables};
use crate::heap::memory::BlockId;
use crate::heap::scan::{Edge, Graph};

/// Blocks of Python that no root leads to.
#[derive(Debug)]
pub(crate) struct Unreachable {
    states: Vec<BlockState>,
}

impl Unreachable {
    /// Follows every pointer a few times at most.
    pub(crate) fn of(graph: &Graph, objects: &impl ReferenceCounts) -> Self {
        let found = Self::besides(graph, objects, &Listed::default());
        let listed = NativeTables { graph, objects, states: &found.states }.objects();
        if listed.not_held.is_empty() { found } else { Self::besides(graph, objects, &listed) }
    }

    /// The same where tables list these: of objects that nobody holds all references are known, though not all in memory that is
    /// out of reach.
    fn besides(graph: &Graph, objects: &impl ReferenceCounts, listed: &Listed) -> Self {
        let not_held = &listed.not_held;
        let mut search = UnreachableSearch {
            graph,
            states: vec![BlockState::Unknown; graph.blocks().len()],
            open: Vec::new(),
        };
        // What leads to them is no reference.
        not_held.iter().for_each(|block| search.states[block.index()] = BlockState::PointedTo);
        let roots = graph.roots().all().iter().map(|root| root.edge.block());
        for block in roots.chain(listed.held.iter().copied()) {
            search.take(block, BlockState::Unknown, BlockState::Reached);
        }
        search.follow(BlockState::Unknown, BlockState::Reached);
        search.reach_immortals(objects);
        not_held.iter().for_each(|block| search.states[block.index()] = BlockState::Unknown);
        search.take_objects(objects);
        let is_known = |block: &BlockId| not_held.binary_search(block).is_ok();
        for block in search.overcounted(objects).into_iter().filter(|block| !is_known(block)) {
            search.take(block, BlockState::OfObjects, BlockState::Overcounted);
        }
        search.follow(BlockState::OfObjects, BlockState::Overcounted);
        for block in graph.blocks().ids().filter(|&block| graph.is_tracked(block)) {
            search.take(block, BlockState::OfObjects, BlockState::Garbage);
        }
        search.follow(BlockState::OfObjects, BlockState::Garbage);
        Self { states: search.states }
    }

    /// Whether Python's collector would free a block.
    pub(crate) fn is_garbage(&self, block: BlockId) -> bool {
        self.states[block.index()] == BlockState::Garbage
    }

    /// Whether nobody holds a block and the collector leaves it alone all the same.
    pub(crate) fn is_overcounted(&self, block: BlockId) -> bool {
        self.states[block.index()] == BlockState::Overcounted
    }
}

struct UnreachableSearch<'a> {
    graph: &'a Graph,
    states: Vec<BlockState>,
    /// Blocks that were marked and whose pointers are to be followed.
    open: Vec<BlockId>,
}

impl UnreachableSearch<'_> {
    fn take(&mut self, block: BlockId, from: BlockState, to: BlockState) {
        let state = &mut self.states[block.index()];
        if *state == from {
            *state = to;
            self.open.push(block);
        }
    }

    fn follow(&mut self, from: BlockState, to: BlockState) {
        let graph = self.graph;
        while let Some(block) = self.open.pop() {
            graph.edges(block).iter().for_each(|edge| self.take(edge.block(), from, to));
        }
    }

    fn unreached(&self, objects: &impl ReferenceCounts) -> Vec<BlockId> {
        let blocks = self.graph.blocks().ids();
        let is_left =
            |&block: &BlockId| self.states[block.index()] == BlockState::Unknown && objects.is_object(block);
        blocks.filter(is_left).collect()
    }

    /// What lives for ever counts no references, and whatever it leads to lives as long.
    fn reach_immortals(&mut self, objects: &impl ReferenceCounts) {
        for block in self.unreached(objects) {
            if objects.references(block).is_none_or(|count| count >= IMMORTAL) {
                self.take(block, BlockState::Unknown, BlockState::Reached);
            }
        }
        self.follow(BlockState::Unknown, BlockState::Reached);
    }

    fn take_objects(&mut self, objects: &impl ReferenceCounts) {
        for block in self.unreached(objects) {
            self.take(block, BlockState::Unknown, BlockState::OfObjects);
        }
        self.follow(BlockState::Unknown, BlockState::OfObjects);
    }

    /// ReferenceCounts that count more references than come from the memory of objects out of reach.
    fn overcounted(&self, objects: &impl ReferenceCounts) -> Vec<BlockId> {
        let is_own = |block: &BlockId| self.states[block.index()] == BlockState::OfObjects;
        let own: Vec<BlockId> = self.graph.blocks().ids().filter(is_own).collect();
        if own.is_empty() {
            return own;
        }
        let mut pointers = vec![0u32; self.graph.blocks().len()];
        for &block in &own {
            let is_seen = |edge: &&Edge| self.is_seen_by_collector(objects, block, **edge);
            for edge in self.graph.edges(block).iter().filter(is_seen) {
                let count = &mut pointers[edge.block().index()];
                *count = count.saturating_add(1);
            }
        }
        let has_more = |block: &BlockId| {
            let known = u64::from(pointers[block.index()]) + u64::from(self.graph.own_references(*block));
            objects.is_object(*block) && objects.references(*block).is_some_and(|count| count > known)
        };
        own.into_iter().filter(has_more).collect()
    }

    /// A reference of an object that the collector does not know to one that it knows is nothing to it.
    fn is_seen_by_collector(&self, objects: &impl ReferenceCounts, from: BlockId, edge: Edge) -> bool {
        let is_unknown = objects.is_object(from) && !self.graph.is_tracked(from);
        self.graph.is_reference(edge) && !(is_unknown && self.graph.is_tracked(edge.block()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::heap::synthetic::{Heap, id_at};

    /// ReferenceCounts by their addresses, with the references that they count.
    struct Counted<'a> {
        graph: &'a Graph,
        counts: BTreeMap<u64, u64>,
    }

    impl ReferenceCounts for Counted<'_> {
        fn is_object(&self, block: BlockId) -> bool {
            self.references(block).is_some()
        }

        fn is_plain(&self, block: BlockId) -> bool {
            self.is_object(block)
        }

        fn references(&self, block: BlockId) -> Option<u64> {
            self.counts.get(&self.graph.blocks().get(block).address.get()).copied()
        }
    }

    /// Tracked objects with their counts, and what becomes of each block.
    fn states(heap: &mut Heap, objects: &[(u64, u64)], blocks: &[u64]) -> Vec<BlockState> {
        objects.iter().for_each(|&(address, _)| heap.track(address));
        let graph = heap.graph();
        let found =
            Unreachable::of(&graph, &Counted { graph: &graph, counts: objects.iter().copied().collect() });
        blocks.iter().map(|&address| found.states[id_at(&graph, address).index()]).collect()
    }

    #[test]
    fn a_ring_that_nothing_else_counts_is_garbage_with_all_that_it_leads_to() {
        let mut heap = Heap::default();
        let [one, other, data] = [0x1000, 0x1100, 0x1200].map(|at| heap.block(at, 64, 1));
        heap.point(one, other);
        heap.point(other, one);
        heap.point(other, data);
        let found = states(&mut heap, &[(one, 1), (other, 1)], &[one, other, data]);
        assert_eq!(found, [BlockState::Garbage; 3]);
    }

    #[test]
    fn a_ring_that_a_root_leads_to_is_none() {
        let mut heap = Heap::default();
        let [kept, one, other] = [0x1000, 0x1100, 0x1200].map(|at| heap.block(at, 64, 1));
        heap.name(0, 1, kept);
        for (from, to) in [(kept, one), (one, other), (other, one)] {
            heap.point(from, to);
        }
        let found = states(&mut heap, &[(kept, 1), (one, 2), (other, 1)], &[kept, one, other]);
        assert_eq!(found, [BlockState::Reached; 3]);
    }

    #[test]
    fn what_counts_more_than_points_to_it_is_nobodys_and_keeps_what_it_holds() {
        let mut heap = Heap::default();
        let [list, items, one, other] = [0x1000, 0x1100, 0x1200, 0x1300].map(|at| heap.block(at, 64, 1));
        for (from, to) in [(list, items), (items, one), (one, other), (other, one)] {
            heap.point(from, to);
        }
        let objects = [(list, 1), (one, 2), (other, 1)];
        let found = states(&mut heap, &objects, &[list, items, one, other]);
        assert_eq!(
            found,
            [BlockState::Overcounted; 4],
            "the ring is held by the list, which counts one reference"
        );
    }

    #[test]
    fn a_ring_that_native_memory_out_of_reach_points_to_is_not_garbage() {
        let mut heap = Heap::default();
        let [native, one, other] = [0x1000, 0x1100, 0x1200].map(|at| heap.block(at, 64, 1));
        for (from, to) in [(native, one), (one, other), (other, one)] {
            heap.point(from, to);
        }
        let found = states(&mut heap, &[(one, 2), (other, 1)], &[native, one, other]);
        assert_eq!(found, [BlockState::Unknown, BlockState::Overcounted, BlockState::Overcounted]);
    }

    /// A table of native code, which a root leads to, points to an object that a ring holds; and that object holds data.
    fn ring_beside_a_table(count: u64) -> Vec<BlockState> {
        let mut heap = Heap::default();
        let [table, one, other, message, data] =
            [0x1000, 0x1100, 0x1200, 0x1300, 0x1400].map(|at| heap.block(at, 64, 1));
        heap.name(0, 1, table);
        for (from, to) in [(table, message), (one, other), (other, one), (one, message), (message, data)] {
            heap.point(from, to);
        }
        let objects = [(one, 1), (other, 1)];
        objects.iter().for_each(|&(address, _)| heap.track(address));
        let graph = heap.graph();
        let counts = objects.into_iter().chain([(message, count)]).collect();
        let found = Unreachable::of(&graph, &Counted { graph: &graph, counts });
        [table, one, message, data].map(|at| found.states[id_at(&graph, at).index()]).to_vec()
    }

    #[test]
    fn a_table_that_counts_no_reference_holds_nothing_that_garbage_holds() {
        let [reached, garbage] = [BlockState::Reached, BlockState::Garbage];
        assert_eq!(ring_beside_a_table(1), [reached, garbage, garbage, garbage]);
        assert_eq!(ring_beside_a_table(2), [reached, garbage, reached, reached], "the table counts one, too");
    }

    /// A ring that a table of native code leads to, as pybind11 has one of its instances.
    fn ring_in_a_table(counts: [u64; 2], leads_there: Option<u64>) -> Vec<BlockState> {
        let mut heap = Heap::default();
        let [table, node, kept, one, other, data] =
            [0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500].map(|at| heap.block(at, 64, 1));
        heap.name(0, 1, table);
        heap.name(1, 1, kept);
        let pointers = [(table, node), (node, one), (one, other), (other, one), (other, data)];
        pointers.into_iter().for_each(|(from, to)| heap.point(from, to));
        leads_there.into_iter().for_each(|from| heap.point(from, other));
        states(&mut heap, &[(kept, 1), (one, counts[0]), (other, counts[1])], &[table, one, other, data])
    }

    #[test]
    fn a_ring_that_only_a_table_of_native_code_leads_to_is_garbage() {
        let [reached, garbage] = [BlockState::Reached, BlockState::Garbage];
        assert_eq!(ring_in_a_table([1, 1], None), [reached, garbage, garbage, garbage]);
        assert_eq!(ring_in_a_table([2, 1], None), [reached; 4], "the table counts a reference");
        assert_eq!(ring_in_a_table([1, 2], None), [reached; 4], "somebody that is not seen does");
        assert_eq!(ring_in_a_table([1, 2], Some(0x1200)), [reached; 4], "a variable leads to it");
        assert_eq!(ring_in_a_table([1, 1], Some(0x1200)), [reached; 4], "though it counts no reference");
        assert_eq!(ring_in_a_table([1, 2], Some(0x1000)), [reached; 4], "native memory counts one");
    }

    #[test]
    fn what_lives_for_ever_is_neither() {
        let mut heap = Heap::default();
        let [one, held] = [0x1000, 0x1100].map(|at| heap.block(at, 64, 1));
        heap.point(one, held);
        assert_eq!(
            states(&mut heap, &[(one, u32::MAX.into()), (held, 1)], &[one, held]),
            [BlockState::Reached; 2]
        );
    }

    #[test]
    fn a_reference_to_itself_counts() {
        let mut heap = Heap::default();
        let one = heap.block(0x1000, 64, 1);
        heap.point(one, one);
        assert_eq!(states(&mut heap, &[(one, 1)], &[one]), [BlockState::Garbage]);
    }
}
