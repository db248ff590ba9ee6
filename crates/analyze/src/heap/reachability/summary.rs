//! What is kept of one snapshot until the next: the heavy part of the tree of dominators, a few megabytes at most. What is light is
//! left out, and so is all of a chain but its top:
//!
//! ```text
//!   list object ── node ── node ── node ── …      is kept as      list object ── node (a chain of 1,000)
//! ```
//!
//! Nodes of one class, site and size that dominate each other are one list or one tree. Without this the nodes of one
//! long list would be all that is kept, and growth would be traced to its last node.

use heaplens_format::recording::Amount;
use heaplens_format::{Addr, Bytes};

use super::dominators::{Dominators, Node};
use super::nodes::Number;
use crate::heap::scan::Graph;

/// Nodes that are kept at most: 4 MB.
const MOST: usize = 50_000;
/// A block that holds no other is kept from this size on: what grows is what holds others, or is large.
const LEAST_LEAF: Bytes = Bytes::new(4096);
/// So many levels up the last node of the same kind is searched for: between two nodes of a list of Python's lies what
/// keeps their attributes.
const LEVELS: usize = 3;
/// So many nodes of one kind below each other are a chain if the stack that allocated them is known …
const CHAIN_OF_SITE: u8 = 3;
/// … and so many if only their class is: dicts hold dicts.
const CHAIN_OF_CLASS: u8 = 8;

/// No node.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What a block is, as far as that stays from snapshot to snapshot. 0 where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKind {
    /// Its class, as the caller numbers it in all snapshots.
    pub class: u32,
    /// The stack that allocated it.
    pub site: u32,
}

/// A node that was kept.
#[derive(Clone, Debug)]
pub struct SummaryNode {
    /// Which it was in its snapshot.
    pub node: Node,
    /// What it retained.
    pub retained: Amount,
    /// How many nodes it dominates directly: elements, where it is a container.
    pub elements: u64,
    /// Where it lay, 0 for groups.
    pub(crate) address: Addr,
    pub(crate) kind: BlockKind,
    /// The next node above it that was kept. The first node is everything, and its own parent.
    pub(crate) parent: u32,
    /// It stands for a chain of nodes of its kind.
    pub(crate) is_chain: bool,
}

/// The heavy part of one snapshot, parents before children.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub(crate) nodes: Vec<SummaryNode>,
}

impl Summary {
    /// `kind` gives the kind of each block; it is asked once for each.
    pub fn of(graph: &Graph, dominators: &Dominators, kind: impl FnMut(Node) -> BlockKind) -> Self {
        let mut draft = Draft::new(graph, dominators, kind);
        draft.find_chains();
        draft.keep()
    }
}

/// What is known of every node while the summary is made.
struct Draft<'a, K> {
    graph: &'a Graph,
    dominators: &'a Dominators,
    kind: K,
    /// A hash of class, site and size; 0 for what is no block.
    shapes: Vec<u32>,
    /// How many nodes of its kind are above a node in its chain, at most [`RUN`]; and bits.
    runs: Vec<u8>,
}

const RUN: u8 = 15;
/// The stack that allocated it is known.
const HAS_SITE: u8 = 16;
/// It is part of a chain that is long enough.
const IN_CHAIN: u8 = 32;
/// It holds another node.
const HOLDS: u8 = 64;
/// It has a node in the summary, its own or that of the chain.
const KEPT: u8 = 128;

impl<'a, K: FnMut(Node) -> BlockKind> Draft<'a, K> {
    fn new(graph: &'a Graph, dominators: &'a Dominators, kind: K) -> Self {
        let count = dominators.len();
        let mut draft = Self { graph, dominators, kind, shapes: vec![0; count], runs: vec![0; count] };
        for number in 0..count {
            let node = dominators.node(number as Number);
            if let Node::Block(block) = node {
                let BlockKind { class, site } = (draft.kind)(node);
                draft.shapes[number] = shape(class, site, graph.blocks().get(block).size);
                draft.runs[number] = if site != 0 { HAS_SITE } else { 0 };
            }
            if number > 0 {
                draft.runs[dominators.parent(number as Number) as usize] |= HOLDS;
            }
        }
        draft
    }

    /// Marks the nodes of chains: a run is counted downwards, and that it was long enough is passed upwards.
    fn find_chains(&mut self) {
        for number in 1..self.runs.len() {
            if let Some(above) = self.same_above(number) {
                let run = (self.runs[above] & RUN).saturating_add(1).min(RUN);
                self.runs[number] |= run;
            }
        }
        for number in (1..self.runs.len()).rev() {
            let flags = self.runs[number];
            let enough = if flags & HAS_SITE != 0 { CHAIN_OF_SITE } else { CHAIN_OF_CLASS };
            if flags & IN_CHAIN != 0 || (flags & RUN) + 1 >= enough {
                self.runs[number] |= IN_CHAIN;
                if let Some(above) = self.same_above(number) {
                    self.runs[above] |= IN_CHAIN;
                }
            }
        }
    }

    /// The next node above of the same class, site and size.
    fn same_above(&self, number: usize) -> Option<usize> {
        let shape = self.shapes[number];
        let mut at = number;
        for _ in 0..LEVELS {
            at = self.dominators.parent(at as Number) as usize;
            if at == 0 || shape == 0 {
                return None;
            }
            if self.shapes[at] == shape {
                return Some(at);
            }
        }
        None
    }

    /// Whether a node is part of a chain and not its top.
    fn is_folded(&self, number: usize) -> bool {
        self.runs[number] & IN_CHAIN != 0 && self.runs[number] & RUN > 0
    }

    fn keep(mut self) -> Summary {
        let least = self.least();
        let mut summary = Summary::default();
        // The node of the summary that a node is, or lies under.
        let mut kept_as = vec![0u32; self.runs.len()];
        for number in 0..self.runs.len() {
            let parent = self.dominators.parent(number as Number) as usize;
            let above = kept_as[parent];
            if number > 0 && self.runs[parent] & KEPT != 0 {
                summary.nodes[above as usize].elements += 1;
            }
            let top = self.same_above(number).filter(|_| self.is_folded(number));
            kept_as[number] = if let Some(top) = top {
                self.runs[number] |= self.runs[top] & KEPT;
                kept_as[top]
            } else if number == 0 || self.weight(number) >= least {
                self.runs[number] |= KEPT;
                summary.nodes.push(self.node(number, above));
                summary.nodes.len() as u32 - 1
            } else {
                above
            };
        }
        summary
    }

    fn node(&mut self, number: usize, parent: u32) -> SummaryNode {
        let node = self.dominators.node(number as Number);
        let (address, kind) = match node {
            Node::Block(block) => (self.graph.blocks().get(block).address, (self.kind)(node)),
            _ => (Addr::default(), BlockKind::default()),
        };
        let retained = self.dominators.amount(number as Number);
        let is_chain = self.runs[number] & IN_CHAIN != 0;
        SummaryNode { node, retained, elements: 0, address, kind, parent, is_chain }
    }

    /// What counts when it is decided whether a node is kept; 0 if it is not.
    fn weight(&self, number: usize) -> Bytes {
        let bytes = self.dominators.amount(number as Number).bytes;
        let is_light = self.runs[number] & HOLDS == 0 && bytes < LEAST_LEAF;
        if is_light || self.is_folded(number) { Bytes::ZERO } else { bytes }
    }

    /// The weight from which on not too many are kept.
    fn least(&self) -> Bytes {
        let weights = (0..self.runs.len()).map(|number| self.weight(number));
        let mut weights: Vec<Bytes> = weights.filter(|weight| *weight > Bytes::ZERO).collect();
        if weights.len() <= MOST {
            return Bytes::new(1);
        }
        let at = weights.len() - MOST;
        *weights.select_nth_unstable(at).1 + Bytes::new(1)
    }
}

/// Never 0.
fn shape(class: u32, site: u32, size: Bytes) -> u32 {
    let mixed = (u64::from(class) << 32 | u64::from(site)) ^ size.get().rotate_left(40);
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32 | 1
}
