//! What goes when one thing goes: block A dominates block B when every path from a root to B leads through A, and what A
//! dominates is what it retains. Roots are put into groups (a variable, a symbol, a stack), which are nodes of their own:
//!
//! ```text
//!   everything ─┬─ group: module __main__ ─┬─ dict ── list ── items ─┬─ element
//!               └─ group: stack of 4711    └─ …                      └─ element
//! ```
//!
//! Groups have ranks, as in [`Paths`](super::Paths): what a group of an early rank reaches is retained by it even if a later rank points to it
//! as well, so that a variable that happens to point to an element takes nothing from the list.
//!
//! The tree is found by semi-NCA (Georgiadis, Tarjan, Werneck 2006), not by iterating over the graph: a `std::list` of a million
//! elements would make that take a million rounds. Arrays are reused: no stack for the search, and the positions of the
//! reversed pointers lie where semidominators will be.

use heaplens_format::Bytes;
use heaplens_format::recording::Amount;
use thiserror::Error;

use super::nodes::{Nodes, Number, SearchTree};
use crate::heap::memory::BlockId;
use crate::heap::scan::{Content, Graph, RootOrigin};

pub use super::nodes::{COLLECTOR_GROUP, Node};

/// More pointers than dominators can be found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{pointers} pointers between live blocks: retained sizes are found for at most {} of them", u32::MAX)]
pub struct TooManyPointers {
    /// How many there are.
    pub pointers: usize,
}

/// The tree, and what each of its nodes retains.
#[derive(Debug)]
pub struct Dominators {
    nodes: Nodes,
    /// By number. A parent has a smaller number than its children.
    parents: Vec<Number>,
    bytes: Vec<Bytes>,
    blocks: Vec<u32>,
}

impl Dominators {
    /// Follows every pointer three times. `group` puts a root into a group.
    pub fn of(graph: &Graph, group: impl FnMut(RootOrigin) -> u32) -> Result<Self, TooManyPointers> {
        Self::through(graph, |_| Content::Object, group)
    }

    /// The same where some blocks are objects: none retains its class, as no path leads from it to that.
    pub fn through(
        graph: &Graph,
        content: impl Fn(BlockId) -> Content,
        group: impl FnMut(RootOrigin) -> u32,
    ) -> Result<Self, TooManyPointers> {
        let pointers = graph.pointers() + graph.roots().all().len();
        if u32::try_from(pointers).is_err() {
            return Err(TooManyPointers { pointers });
        }
        let SearchTree { nodes, mut parents, counts, spare } = Nodes::search(graph, content, group);
        SemiDominators::new(graph, &nodes, &parents, counts, spare).settle(&mut parents);
        let (bytes, blocks) = retained(graph, &nodes, &parents);
        Ok(Self { nodes, parents, bytes, blocks })
    }

    /// What goes with a block, itself included; nothing where no root leads to it.
    pub fn retained(&self, block: BlockId) -> Amount {
        self.nodes.number(block).map_or_else(Amount::default, |number| self.amount(number))
    }

    /// What goes with a group.
    pub fn retained_by_group(&self, group: u32) -> Amount {
        let mut sum = Amount::default();
        for (number, _) in self.nodes.groups().filter(|(_, found)| *found == group) {
            sum += self.amount(number);
        }
        sum
    }

    /// The nearest node that every path to a block leads through; `None` where no root leads to it.
    pub fn dominator(&self, block: BlockId) -> Option<Node> {
        Some(self.nodes.node(self.parents[self.nodes.number(block)? as usize]))
    }

    /// What is reached at all.
    pub fn everything(&self) -> Amount {
        self.amount(0)
    }

    /// How many nodes there are: everything, groups, blocks. Node 0 is everything; parents come before their children.
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    pub(crate) fn node(&self, number: Number) -> Node {
        self.nodes.node(number)
    }

    pub(crate) fn parent(&self, number: Number) -> Number {
        self.parents[number as usize]
    }

    pub(crate) fn amount(&self, number: Number) -> Amount {
        let at = number as usize;
        Amount { bytes: self.bytes[at], blocks: self.blocks[at].into() }
    }
}

/// Semidominators, from the last node to the first.
struct SemiDominators {
    /// Up the tree of the search, compressed.
    ancestors: Vec<Number>,
    /// The node on the path up that has the smallest semidominator.
    labels: Vec<Number>,
    /// Before a node is come to: where the pointers to the next one begin in `sources`.
    semis: Vec<u32>,
    sources: Vec<Number>,
}

/// Where a path down ends.
const BOTTOM: Number = u32::MAX;

impl SemiDominators {
    fn new(graph: &Graph, nodes: &Nodes, parents: &[Number], counts: Vec<u32>, mut labels: Vec<u32>) -> Self {
        let (mut ends, mut sum) = (counts, 0);
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut sources = vec![0; sum as usize];
        nodes.each_pointer(graph, parents, |from, to| {
            let end = &mut ends[to as usize];
            sources[*end as usize] = from;
            *end += 1;
        });
        labels.iter_mut().zip(0..).for_each(|(label, number)| *label = number);
        Self { ancestors: parents.to_vec(), labels, semis: ends, sources }
    }

    /// `parents` are those of the search before, and those of the tree of dominators after.
    fn settle(mut self, parents: &mut [Number]) {
        for node in (1..parents.len() as u32).rev() {
            let semi = self.semi_of(node, parents[node as usize]);
            self.semis[node as usize] = semi;
        }
        for node in 1..parents.len() {
            let mut dominator = parents[node];
            while dominator > self.semis[node] {
                dominator = parents[dominator as usize];
            }
            parents[node] = dominator;
        }
    }

    fn semi_of(&mut self, node: Number, parent: Number) -> Number {
        let (begin, end) = (self.semis[node as usize - 1], self.semis[node as usize]);
        let mut semi = parent;
        for at in begin..end {
            let from = self.sources[at as usize];
            let via = if from < node {
                from
            } else {
                let best = self.best_on_path(from, node);
                self.semis[best as usize]
            };
            semi = semi.min(via);
        }
        semi
    }

    /// Of a node and those above it, as far as they come after `node`: the one with the smallest semidominator. The path is
    /// compressed: it leads up by `ancestors` and, turned round in the same array, down again, since a long list would need a stack
    /// as long as itself.
    fn best_on_path(&mut self, from: Number, node: Number) -> Number {
        let (mut at, mut below) = (from, BOTTOM);
        while self.ancestors[at as usize] > node {
            let above = std::mem::replace(&mut self.ancestors[at as usize], below);
            (below, at) = (at, above);
        }
        let top = self.ancestors[at as usize];
        let mut best = self.labels[at as usize];
        while below != BOTTOM {
            let label = &mut self.labels[below as usize];
            if self.semis[best as usize] < self.semis[*label as usize] {
                *label = best;
            } else {
                best = *label;
            }
            below = std::mem::replace(&mut self.ancestors[below as usize], top);
        }
        best
    }
}

fn retained(graph: &Graph, nodes: &Nodes, parents: &[Number]) -> (Vec<Bytes>, Vec<u32>) {
    let (mut bytes, mut blocks) = (vec![Bytes::ZERO; parents.len()], vec![0; parents.len()]);
    for node in (0..parents.len()).rev() {
        if let Node::Block(block) = nodes.node(node as u32) {
            bytes[node] += graph.blocks().get(block).size;
            blocks[node] += 1;
        }
        let parent = parents[node] as usize;
        if node > 0 {
            let (own, retained) = (bytes[node], &mut bytes[parent]);
            *retained += own;
            blocks[parent] += blocks[node];
        }
    }
    (bytes, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::synthetic::{Heap, id_at};

    #[test]
    fn an_object_does_not_retain_its_class_and_nothing_is_forgotten() {
        let [object, class, registry, own] = [0x1_0000u64, 0x2_0000, 0x3_0000, 0x4_0000];
        let mut heap = Heap::default();
        for (address, size) in [(object, 100), (class, 1000), (registry, 500_000), (own, 40)] {
            heap.block(address, size, 1);
        }
        for (from, to) in [(object, class), (class, registry), (object, own)] {
            heap.point_into(from, to, 0);
        }
        heap.name(0, 7, object);
        let graph = heap.graph();
        let id = |address: u64| id_at(&graph, address);
        let content = |block: BlockId| match block {
            block if block == id(class) => Content::Class,
            block if block == id(object) => Content::Object,
            _ => Content::Unknown,
        };
        let dominators = Dominators::through(&graph, content, |_| 7).unwrap();
        let bytes = |address: u64| dominators.retained(id(address)).bytes.get();
        assert_eq!([object, class].map(bytes), [140, 501_000]);
        assert_eq!(dominators.retained_by_group(7).bytes.get(), 140);
        assert_eq!(dominators.everything().bytes.get(), 501_140);
    }
}
