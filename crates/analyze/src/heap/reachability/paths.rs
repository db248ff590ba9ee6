//! The shortest path from a root to each block. Roots are asked rank by rank: whatever can be reached from rank 0 is reached
//! from there, however long the path, since a name is worth more than a step; only what is left is searched for from rank 1.
//!
//! ```text
//!   rank 0: named roots ─▶ all that they lead to
//!   rank 1: stacks      ─▶ what is left ─▶ …
//!   last: tracked by Python's collector and reached by nothing: first what nothing points to, then rings, one by one
//! ```
//!
//! Some pointers say little of who holds what: old words in memory of no type make short paths that are none, and an object leads to
//! its class, and by that to all that the class has. Paths without such steps count first, from all roots with a name; then those
//! with one of them, and so on.
//!
//! In a Python program names lead to objects first, by references alone; then native memory is searched from all of these at once, so that it is held by the
//! object that is nearest to it, and not by a variable that is asked early and leads everywhere. And what native code shares among very many, as the
//! client of a device or a framework's context, lists them: each of its arrays leads to it, none of them holds it, or the other arrays. Paths through it
//! count when all roots that are variables were asked.

use heaplens_format::Bytes;
use heaplens_snapshot::Rank;

use super::tops::tops;
use crate::heap::memory::{BlockId, BlockSet};
use crate::heap::scan::{Content, Edge, Graph, Holder, RootEdge, RootOrigin};

/// No path leads to the block.
const NONE: u32 = u32::MAX >> 1;
/// The collector alone knows the block.
const COLLECTOR: u32 = NONE - 1;
/// The block was found on this level, and not by its start: a better pointer of the same level replaces it.
const INSIDE: u32 = 1 << 31;

/// Blocks of a path that are reported, at its beginning and at its end: a list of ten million links is no path that anybody reads.
const REPORTED: usize = 32;

/// What native code made and so many pointers of other blocks lead to is shared by these.
const SHARED: u8 = 32;

/// For each block, the one before it on its path.
#[derive(Debug)]
pub struct Paths {
    /// The number of a block, or, counted after those, of a pointer from a root.
    parents: Vec<u32>,
    /// The last block of the beginning of each block's path; the block itself where it is a part of that.
    heads: Vec<u32>,
}

/// A reference path from a root to a block.
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
    /// The shortest ones. Follows every pointer once.
    pub fn of(graph: &Graph) -> Self {
        Self::through(graph, |_| Content::Object)
    }

    /// Through objects where there is such a path, and not through their classes.
    pub fn through(graph: &Graph, content: impl Fn(BlockId) -> Content) -> Self {
        let mut search = PathSearch::new(graph, content);
        let mut ranks = graph.roots().ranks().peekable();
        while let Some((first, edges)) = ranks.next() {
            for (number, root) in (first..).zip(edges) {
                search.reach(root.edge, (graph.blocks().len() + number) as u32);
            }
            search.spread_at_once();
            let next = ranks.peek().and_then(|(_, edges)| edges.first());
            let is_named = |root: &RootEdge| matches!(graph.roots().origin(root), RootOrigin::Named { .. });
            if !next.is_some_and(is_named) {
                search.spread();
                search.spread_through_native();
            }
            if next.is_none_or(|root| graph.roots().rank(root) > Rank::Data) {
                search.spread_through_shared();
            }
        }
        search.spread_through_shared();
        for block in tops(graph, |block| search.parents[block.index()] != NONE) {
            search.reach(Edge::new(block, Bytes::ZERO), COLLECTOR);
        }
        search.spread();
        for block in graph.blocks().ids().filter(|block| graph.is_tracked(*block)) {
            search.reach(Edge::new(block, Bytes::ZERO), COLLECTOR);
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

    /// The path to a block; `None` where nothing leads to it.
    pub fn path(&self, graph: &Graph, block: BlockId) -> Option<Path> {
        let head = BlockId::new(self.heads[block.index()] as usize);
        let mut last = Vec::new();
        let mut at = block;
        while at != head && last.len() < REPORTED {
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
struct PathSearch<'a, F> {
    graph: &'a Graph,
    content: F,
    parents: Vec<u32>,
    heads: Vec<u32>,
    /// Steps from the root to each block, at most [`REPORTED`].
    depths: Vec<u8>,
    level: Vec<BlockId>,
    next: Vec<BlockId>,
    /// Those of `next` that were found by a pointer into their middle.
    inside: Vec<BlockId>,
    /// Pointers that say little, each with the block that it is in: for when all other paths were gone.
    later: Vec<(Edge, u32)>,
    /// Pointers that are not references between Python objects; `None`: their turn has come.
    to_native: Option<Vec<(Edge, u32)>>,
    /// What native code made and many blocks point to.
    shared: BlockSet,
    /// Pointers to it; `None`: its turn has come.
    to_shared: Option<Vec<(Edge, u32)>>,
}

impl<'a, F: Fn(BlockId) -> Content> PathSearch<'a, F> {
    fn new(graph: &'a Graph, content: F) -> Self {
        let count = graph.blocks().len();
        let shared = shared(graph, &content);
        Self {
            graph,
            content,
            to_native: Some(Vec::new()),
            shared,
            to_shared: Some(Vec::new()),
            parents: vec![NONE; count],
            heads: vec![0; count],
            depths: vec![0; count],
            level: Vec::new(),
            next: Vec::new(),
            inside: Vec::new(),
            later: Vec::new(),
        }
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
        let depth =
            self.depths.get(from as usize).map_or(0, |&depth| depth.saturating_add(1).min(REPORTED as u8));
        self.depths[block.index()] = depth;
        let is_reported = usize::from(depth) < REPORTED;
        self.heads[block.index()] = if is_reported { block.raw() } else { self.heads[from as usize] };
    }

    fn spread(&mut self) {
        self.spread_at_once();
        while !self.later.is_empty() {
            for (edge, from) in std::mem::take(&mut self.later) {
                self.reach(edge, from);
            }
            self.spread_at_once();
        }
    }

    /// Goes on through native memory, from all that references lead to, and no longer waits with it. Memory of no type waits for objects here, too.
    fn spread_through_native(&mut self) {
        let waiting = self.to_native.take().into_iter().flatten();
        let (of_objects, others): (Vec<_>, Vec<_>) =
            waiting.partition(|&(_, from)| self.holds_references(BlockId::new(from as usize)));
        of_objects.into_iter().for_each(|(edge, from)| self.reach(edge, from));
        self.later.extend(others);
        self.spread();
    }

    /// Goes on through memory that many share, and no longer waits with it.
    fn spread_through_shared(&mut self) {
        for (edge, from) in self.to_shared.take().into_iter().flatten() {
            self.reach(edge, from);
        }
        self.spread();
    }

    /// As far as no pointer has to wait.
    fn spread_at_once(&mut self) {
        while !self.next.is_empty() {
            self.take_level();
        }
    }

    /// Goes on from all that was found last.
    fn take_level(&mut self) {
        for block in self.inside.drain(..) {
            self.parents[block.index()] &= !INSIDE;
        }
        self.level.clear();
        std::mem::swap(&mut self.level, &mut self.next);
        for at in 0..self.level.len() {
            let (block, graph) = (self.level[at], self.graph);
            let is_sound = self.is_of_an_object(block);
            let is_object = self.holds_references(block);
            let is_of_python = self.is_of_python(block);
            for &edge in graph.edges(block) {
                if self.shared.contains(edge.block())
                    && let Some(waiting) = &mut self.to_shared
                {
                    waiting.push((edge, block.raw()));
                } else if !self.is_reference(is_of_python, edge.block())
                    && let Some(waiting) = &mut self.to_native
                {
                    waiting.push((edge, block.raw()));
                } else if is_sound && !(is_object && (self.content)(edge.block()) == Content::Class) {
                    self.reach(edge, block.raw());
                } else if self.parents[edge.block().index()] == NONE {
                    self.later.push((edge, block.raw()));
                }
            }
        }
    }

    /// Whether the pointers of a block are those of a Python object, or of memory that an object or a variable has for itself.
    fn is_of_python(&self, block: BlockId) -> bool {
        let is_object = |block| matches!((self.content)(block), Content::Object | Content::Class);
        match (self.content)(block) {
            Content::Unknown => {
                let parent = self.parents[block.index()] as usize;
                parent >= self.graph.blocks().len() || is_object(BlockId::new(parent))
            }
            _ => is_object(block),
        }
    }

    /// Whether such a pointer, or any other, is a reference to a Python object, or to an object's own memory.
    fn is_reference(&self, is_of_python: bool, to: BlockId) -> bool {
        is_of_python && !matches!((self.content)(to), Content::Native | Content::Mapping)
    }

    fn holds_references(&self, block: BlockId) -> bool {
        !matches!((self.content)(block), Content::Unknown | Content::Mapping)
    }

    /// Whether a block is an object, or memory that an object or a root leads to.
    #[inline]
    fn is_of_an_object(&self, block: BlockId) -> bool {
        let parent = self.parents[block.index()] as usize;
        let is_held_by_one =
            || parent >= self.graph.blocks().len() || self.holds_references(BlockId::new(parent));
        self.holds_references(block) || is_held_by_one()
    }
}

/// Blocks that native code made, its Python objects among them, and very many others point to.
fn shared(graph: &Graph, content: impl Fn(BlockId) -> Content) -> BlockSet {
    let (mut counts, mut shared) = (vec![0u8; graph.blocks().len()], BlockSet::default());
    for edge in graph.blocks().ids().flat_map(|block| graph.edges(block)) {
        let count = &mut counts[edge.block().index()];
        *count = count.saturating_add(1);
    }
    let is_of_native_code = |block: &BlockId| !matches!(content(*block), Content::Object | Content::Class);
    let many = graph.blocks().ids().filter(|block| counts[block.index()] >= SHARED);
    many.filter(is_of_native_code).for_each(|block| shared.insert(block));
    shared
}
