//! The nodes of the tree of dominators, numbered in the order in which a search in depth comes to them: everything, groups of
//! roots, blocks.

use heaplens_format::Bytes;

use super::tops::tops;
use crate::heap::memory::{BlockId, BlockSet};
use crate::heap::scan::{Content, Edge, Graph, RootOrigin};

/// The position of a node in the order of the search.
pub(crate) type Number = u32;

/// The group of what Python's collector alone knows.
pub const COLLECTOR_GROUP: u32 = u32::MAX;

/// The group of classes that only their objects lead to.
const CLASS_GROUP: u32 = u32::MAX - 1;

/// In `vertices`: not a block, but a group, or everything.
const IS_GROUP: u32 = 1 << 31;
/// The block has no number: 0 is everything.
const UNREACHED: u32 = 0;

/// A node of the tree of dominators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// What holds all groups.
    Everything,
    /// A group of roots, as the caller numbered it.
    Group(u32),
    /// A block.
    Block(BlockId),
}

#[derive(Debug)]
pub(crate) struct Nodes {
    /// By number: a block, or a group with [`IS_GROUP`].
    vertices: Vec<u32>,
    /// By block.
    numbers: Vec<Number>,
    /// Their nodes come in the same order.
    groups: Vec<Group>,
    /// Pointers from roots, sorted by rank and group.
    root_targets: Vec<Edge>,
    /// The first number of each rank.
    ranks: Vec<Number>,
    /// Blocks that are objects, and those of them that are classes.
    objects: BlockSet,
    classes: BlockSet,
}

/// What a search finds; all by number.
pub(crate) struct SearchTree {
    pub(crate) nodes: Nodes,
    /// Where the search came from.
    pub(crate) parents: Vec<Number>,
    /// How many pointers lead to each node besides the one that the search went along: as many as
    /// [`Nodes::each_pointer`] visits.
    pub(crate) counts: Vec<u32>,
    /// An array of the same length, to be used again.
    pub(crate) spare: Vec<u32>,
}

/// One group in one rank.
#[derive(Clone, Copy, Debug)]
struct Group {
    id: u32,
    number: Number,
    /// Its part of the targets of roots.
    first: u32,
    end: u32,
}

impl Nodes {
    /// Numbers all nodes.
    pub(crate) fn search(
        graph: &Graph,
        content: impl Fn(BlockId) -> Content,
        group: impl FnMut(RootOrigin) -> u32,
    ) -> SearchTree {
        let mut walk = Walk::new(graph);
        walk.nodes.note_classes(graph, content);
        walk.walk_roots(group);
        walk.walk_classes();
        walk.walk_collector();
        let Walk { nodes, parents, cursors, counts, .. } = walk;
        SearchTree { nodes, parents, counts, spare: cursors }
    }

    /// Without classes there is nothing to leave out.
    fn note_classes(&mut self, graph: &Graph, content: impl Fn(BlockId) -> Content) {
        for block in graph.blocks().ids() {
            match content(block) {
                Content::Unknown | Content::Mapping => continue,
                Content::Object | Content::Extension | Content::Native => {}
                Content::Class => self.classes.insert(block),
            }
            self.objects.insert(block);
        }
    }

    /// Whether a pointer of a node leads from an object to its class, which the object does not hold.
    #[inline]
    fn is_to_class(&self, from: Number, to: BlockId) -> bool {
        let vertex = self.vertices[from as usize];
        self.classes.contains(to)
            && vertex & IS_GROUP == 0
            && self.objects.contains(BlockId::new(vertex as usize))
    }

    #[inline]
    pub(crate) fn node(&self, number: Number) -> Node {
        match self.vertices[number as usize] {
            IS_GROUP => Node::Everything,
            group @ IS_GROUP.. => Node::Group(self.groups[(group & !IS_GROUP) as usize - 1].id),
            block => Node::Block(BlockId::new(block as usize)),
        }
    }

    #[inline]
    pub(crate) fn number(&self, block: BlockId) -> Option<Number> {
        Some(self.numbers[block.index()]).filter(|number| *number != UNREACHED)
    }

    /// Every group with its node: one for each rank that it has roots in.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (Number, u32)> {
        self.groups.iter().map(|group| (group.number, group.id))
    }

    /// Visits every pointer that counts besides those that the search went along. What is reached in a later rank does not
    /// hold what an earlier one reaches, nor does an object hold its class.
    pub(crate) fn each_pointer(
        &self,
        graph: &Graph,
        parents: &[Number],
        mut visit: impl FnMut(Number, Number),
    ) {
        let mut ranks = self.ranks.iter().copied().peekable();
        let mut rank = 0;
        for from in 0..self.vertices.len() as u32 {
            while let Some(next) = ranks.next_if(|next| *next <= from) {
                rank = next;
            }
            for edge in self.edges(graph, from) {
                let to = self.numbers[edge.block().index()];
                if to != UNREACHED
                    && is_other(from, to, rank, parents)
                    && !self.is_to_class(from, edge.block())
                {
                    visit(from, to);
                }
            }
        }
    }

    #[inline]
    fn edges<'a>(&'a self, graph: &'a Graph, number: Number) -> &'a [Edge] {
        match self.vertices[number as usize] {
            IS_GROUP => &[],
            group @ IS_GROUP.. => {
                let group = self.groups[(group & !IS_GROUP) as usize - 1];
                &self.root_targets[group.first as usize..group.end as usize]
            }
            block => graph.edges(BlockId::new(block as usize)),
        }
    }
}

/// Whether a pointer counts besides those that the search went along, which lead to later nodes alone.
#[inline]
fn is_other(from: Number, to: Number, rank: Number, parents: &[Number]) -> bool {
    to >= rank && !(to > from && parents[to as usize] == from)
}

/// The search. It has no stack: the path back is in `parents`, and how far a node was gone through in `cursors`.
struct Walk<'a> {
    graph: &'a Graph,
    nodes: Nodes,
    parents: Vec<Number>,
    cursors: Vec<u32>,
    counts: Vec<u32>,
    /// The first number of the rank.
    rank: Number,
    /// Classes that objects led to.
    classes: Vec<BlockId>,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph) -> Self {
        let count = graph.blocks().len();
        // Everything, the groups of the collector and of classes, and no more other groups than there are roots.
        let most = count + graph.roots().all().len() + 3;
        let nodes = Nodes {
            vertices: Vec::with_capacity(most),
            numbers: vec![UNREACHED; count],
            groups: Vec::new(),
            root_targets: Vec::new(),
            ranks: Vec::new(),
            objects: BlockSet::default(),
            classes: BlockSet::default(),
        };
        let arrays = || Vec::with_capacity(most);
        let (parents, cursors, counts) = (arrays(), arrays(), arrays());
        let mut walk = Self { graph, nodes, parents, cursors, counts, rank: 0, classes: Vec::new() };
        walk.add(IS_GROUP, 0);
        walk
    }

    fn walk_roots(&mut self, mut group: impl FnMut(RootOrigin) -> u32) {
        let roots = self.graph.roots();
        for (_, edges) in roots.ranks() {
            self.begin_rank();
            let grouped = edges.iter().map(|root| (group(roots.origin(root)), root.edge));
            let mut grouped: Vec<(u32, Edge)> = grouped.collect();
            grouped.sort_by_key(|(group, _)| *group);
            for edges in grouped.chunk_by(|one, next| one.0 == next.0) {
                let first = self.nodes.root_targets.len() as u32;
                self.nodes.root_targets.extend(edges.iter().map(|(_, edge)| edge));
                let number = self.add_group(edges[0].0, first);
                self.walk(number);
            }
        }
    }

    /// Classes that nothing but objects leads to, and what they hold: it is no object's.
    fn walk_classes(&mut self) {
        while !self.classes.is_empty() {
            let first = self.nodes.root_targets.len() as u32;
            let found = std::mem::take(&mut self.classes);
            self.begin_rank();
            self.nodes.root_targets.extend(found.into_iter().map(|block| Edge::new(block, Bytes::ZERO)));
            let number = self.add_group(CLASS_GROUP, first);
            self.walk(number);
        }
    }

    /// What only Python's collector knows: first what leads the rest, then rings, each by itself.
    fn walk_collector(&mut self) {
        let tops = tops(self.graph, |block| self.nodes.number(block).is_some());
        let first = self.nodes.root_targets.len() as u32;
        self.begin_rank();
        self.nodes.root_targets.extend(tops.into_iter().map(|block| Edge::new(block, Bytes::ZERO)));
        let number = self.add_group(COLLECTOR_GROUP, first);
        self.walk(number);
        for block in self.graph.blocks().ids() {
            if self.graph.is_tracked(block) && self.nodes.number(block).is_none() {
                self.begin_rank();
                let top = self.add_block(block, number);
                self.walk(top);
            }
        }
    }

    fn begin_rank(&mut self) {
        self.rank = self.nodes.vertices.len() as u32;
        self.nodes.ranks.push(self.rank);
    }

    fn add(&mut self, vertex: u32, parent: Number) -> Number {
        let number = self.nodes.vertices.len() as u32;
        self.nodes.vertices.push(vertex);
        self.parents.push(parent);
        self.cursors.push(0);
        self.counts.push(0);
        number
    }

    /// A group whose roots are those from `first` on.
    fn add_group(&mut self, id: u32, first: u32) -> Number {
        let number = self.nodes.vertices.len() as u32;
        self.nodes.groups.push(Group { id, number, first, end: self.nodes.root_targets.len() as u32 });
        self.add(IS_GROUP | self.nodes.groups.len() as u32, 0)
    }

    fn add_block(&mut self, block: BlockId, parent: Number) -> Number {
        let number = self.add(block.raw(), parent);
        self.nodes.numbers[block.index()] = number;
        number
    }

    fn walk(&mut self, start: Number) {
        let mut at = start;
        loop {
            match self.next_target(at) {
                Some(block) => at = self.add_block(block, at),
                None if at == start => return,
                None => at = self.parents[at as usize],
            }
        }
    }

    /// The next block that a node points to and that has no number.
    fn next_target(&mut self, at: Number) -> Option<BlockId> {
        let cursor = self.cursors[at as usize] as usize;
        let edges = self.nodes.edges(self.graph, at);
        for (done, edge) in (cursor + 1..).zip(&edges[cursor..]) {
            let to = self.nodes.numbers[edge.block().index()];
            if self.nodes.is_to_class(at, edge.block()) {
                if to == UNREACHED {
                    self.classes.push(edge.block());
                }
                continue;
            }
            if to == UNREACHED {
                self.cursors[at as usize] = done as u32;
                return Some(edge.block());
            }
            if is_other(at, to, self.rank, &self.parents) {
                self.counts[to as usize] += 1;
            }
        }
        self.cursors[at as usize] = edges.len() as u32;
        None
    }
}
