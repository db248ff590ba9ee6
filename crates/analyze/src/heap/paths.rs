//! The shortest path from a root to each block. Roots are asked rank by rank: whatever can be reached from rank 0 is reached
//! from there, however long the path, since a name is worth more than a step; only what is left is looked for from rank 1.
//!
//! ```text
//!   rank 0: named roots ─▶ all that they lead to
//!   rank 1: stacks      ─▶ what is left ─▶ …
//!   last: tracked by Python's collector and reached by nothing: first what nothing points to, then rings, one by one
//! ```

use super::blocks::BlockId;
use super::edge::Edge;
use super::graph::Graph;
use super::roots::{Holder, RootOrigin};
use super::tops::tops;

/// No path leads to the block.
const NONE: u32 = u32::MAX >> 1;
/// The collector alone knows the block.
const COLLECTOR: u32 = NONE - 1;
/// The block was found on this level, and not by its start: a better pointer of the same level takes its place.
const INSIDE: u32 = 1 << 31;

/// Blocks of a path that are told, at its beginning and at its end: a list of ten million links is no path that anybody reads.
const TOLD: usize = 32;

/// For each block, the one before it on its path.
#[derive(Debug)]
pub struct Paths {
    /// The number of a block, or, counted behind those, of a pointer from a root.
    parents: Vec<u32>,
    /// The last block of the beginning of each block's path; the block itself where it is a part of that.
    heads: Vec<u32>,
}

/// A way from a root to a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where it begins.
    pub root: RootOrigin,
    /// The blocks that it begins with. The last of them is the one that it leads to, unless there are more.
    pub first: Vec<BlockId>,
    /// Of a very long path the blocks that it ends with, up to the one that it leads to. Those between are left out.
    pub last: Vec<BlockId>,
}

impl Paths {
    /// Looks at every pointer once.
    pub fn of(graph: &Graph) -> Self {
        let mut search = Search::new(graph);
        for (first, edges) in graph.roots().ranks() {
            for (number, root) in (first..).zip(edges) {
                search.reach(root.edge, (graph.blocks().len() + number) as u32);
            }
            search.spread();
        }
        for block in tops(graph, |block| search.parents[block.index()] != NONE) {
            search.reach(Edge::new(block, 0), COLLECTOR);
        }
        search.spread();
        for block in graph.blocks().ids().filter(|block| graph.is_tracked(*block)) {
            search.reach(Edge::new(block, 0), COLLECTOR);
            search.spread();
        }
        Self { parents: search.parents, heads: search.heads }
    }

    /// What holds a block, on its path.
    pub fn holder(&self, graph: &Graph, block: BlockId) -> Option<Holder> {
        let count = graph.blocks().len();
        match self.parents[block.index()] {
            NONE => None,
            COLLECTOR => Some(Holder::Root(RootOrigin::Collector)),
            parent if (parent as usize) < count => Some(Holder::Block(BlockId::new(parent as usize))),
            parent => {
                let edge = &graph.roots().all()[parent as usize - count];
                Some(Holder::Root(graph.roots().origin(edge)))
            }
        }
    }

    /// The way to a block; `None` where nothing leads to it.
    pub fn path(&self, graph: &Graph, block: BlockId) -> Option<Path> {
        let head = BlockId::new(self.heads[block.index()] as usize);
        let mut last = Vec::new();
        let mut at = block;
        while at != head && last.len() < TOLD {
            last.push(at);
            let Holder::Block(before) = self.holder(graph, at)? else { break };
            at = before;
        }
        last.reverse();
        let mut first = vec![head];
        let root = loop {
            match self.holder(graph, *first.last()?)? {
                Holder::Block(before) => first.push(before),
                Holder::Root(origin) => break origin,
            }
        };
        first.reverse();
        if at == head {
            first.append(&mut last);
        }
        Some(Path { root, first, last })
    }
}

/// Breadth first: one level after the other.
struct Search<'a> {
    graph: &'a Graph,
    parents: Vec<u32>,
    heads: Vec<u32>,
    /// Steps from the root to what is found now.
    depth: usize,
    level: Vec<BlockId>,
    next: Vec<BlockId>,
    /// Those of `next` that were found by a pointer into their middle.
    inside: Vec<BlockId>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        let (parents, heads) = (vec![NONE; graph.blocks().len()], vec![0; graph.blocks().len()]);
        Self { graph, parents, heads, depth: 0, level: Vec::new(), next: Vec::new(), inside: Vec::new() }
    }

    #[inline]
    fn reach(&mut self, edge: Edge, from: u32) {
        let block = edge.block();
        let parent = &mut self.parents[block.index()];
        if *parent == NONE {
            *parent = from;
            self.next.push(block);
            if !self.graph.is_to_start(edge) {
                *parent |= INSIDE;
                self.inside.push(block);
            }
        } else if *parent & INSIDE != 0 && self.graph.is_to_start(edge) {
            *parent = from;
        } else {
            return;
        }
        self.heads[block.index()] = if self.depth < TOLD { block.raw() } else { self.heads[from as usize] };
    }

    fn spread(&mut self) {
        while !self.next.is_empty() {
            for block in self.inside.drain(..) {
                self.parents[block.index()] &= !INSIDE;
            }
            self.depth += 1;
            self.level.clear();
            std::mem::swap(&mut self.level, &mut self.next);
            for at in 0..self.level.len() {
                let block = self.level[at];
                let graph = self.graph;
                for &edge in graph.edges(block) {
                    self.reach(edge, block.raw());
                }
            }
        }
        self.depth = 0;
    }
}
