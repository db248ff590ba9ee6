//! Which container grows between two snapshots. Both trees of dominators are laid upon each other from their roots down; what a node
//! gained is what it retains now less what it retained then. From the root the gain is followed to where it comes from:
//!
//! ```text
//!   everything +100 ── module +100 ── dict +100 ─┬─ results (list) +90 ── items +90 ─┬─ new +1
//!                                                └─ counts (dict) +10                ├─ new +1 …
//!                                                                     point: ▲
//! ```
//!
//! A node is a point of accumulation when what it gained apart from those children that are followed is a share that counts. The
//! share is as small as possible with no more points than were asked for: of two lists in a dict both are reported, of a thousand the
//! dict. (Following the child with the most, as Eclipse MAT does, finds one of several; counting new children, as LeakCanary
//! does, finds a list, but no buffer and no text that grows.)
//!
//! What is new is not followed if it is one of several of its kind under one node: then these are elements, and the node is the
//! container. A chain of nodes is one container, and whatever holds its first node is its name.

use std::collections::{HashMap, HashSet};

use heaplens_format::recording::Amount;
use heaplens_format::{Addr, Bytes};

use super::dominators::Node;
use super::summary::{BlockKind, NOWHERE, Summary, SummaryNode};

/// One part in so many of the gain must be explained by a point; the first division that gives few enough points is taken.
const DIVISIONS: [i64; 6] = [24, 16, 12, 8, 4, 2];

/// A container that grows, or the largest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growing {
    /// Which it is in the later snapshot.
    pub node: Node,
    /// The bytes that it gained, less those of other points below it.
    pub gained: Bytes,
    /// What it retained in the earlier snapshot, if it was there.
    pub before: Option<Amount>,
    /// What it retains.
    pub after: Amount,
    /// How many elements it had, if it was there.
    pub elements_before: Option<u64>,
    /// How many nodes it dominates directly.
    pub elements: u64,
}

/// The containers that gained most between two snapshots, the first the most; at most so many.
pub fn growing(earlier: &Summary, later: &Summary, most: usize) -> Vec<Growing> {
    SnapshotGrowth::new(Some(earlier), later).points(most)
}

/// What retains most in one snapshot.
pub fn largest(summary: &Summary, most: usize) -> Vec<Growing> {
    SnapshotGrowth::new(None, summary).points(most)
}

struct SnapshotGrowth<'a> {
    earlier: Option<&'a Summary>,
    later: &'a Summary,
    /// By node of the later snapshot: its node in the earlier one.
    matches: Vec<u32>,
    /// By node of the later snapshot: bytes.
    gains: Vec<i64>,
    /// The most that a node or any below it gained: beside what shrinks more, something may grow.
    peaks: Vec<i64>,
    children: Children,
}

impl<'a> SnapshotGrowth<'a> {
    fn new(earlier: Option<&'a Summary>, later: &'a Summary) -> Self {
        let children = Children::of(later);
        let matches = earlier.map(|earlier| match_nodes(earlier, later, &children));
        let matches = matches.unwrap_or_else(|| vec![NOWHERE; later.nodes.len()]);
        let mut growth = Self { earlier, later, matches, gains: Vec::new(), peaks: Vec::new(), children };
        growth.gains = (0..later.nodes.len()).map(|at| growth.gain(at)).collect();
        growth.peaks = growth.gains.clone();
        for at in (1..later.nodes.len()).rev() {
            let above = later.nodes[at].parent as usize;
            growth.peaks[above] = growth.peaks[above].max(growth.peaks[at]);
        }
        growth
    }

    fn before(&self, at: usize) -> Option<&SummaryNode> {
        self.earlier?.nodes.get(self.matches[at] as usize)
    }

    fn gain(&self, at: usize) -> i64 {
        let before = self.before(at).map_or(0, |node| node.retained.bytes.get());
        self.later.nodes[at].retained.bytes.get() as i64 - before as i64
    }

    fn points(&self, most: usize) -> Vec<Growing> {
        let Some(&all) = self.peaks.first().filter(|all| **all > 0) else { return Vec::new() };
        let cuts = DIVISIONS.iter().map(|division| self.cut((all / division).max(1)));
        let mut points = Vec::new();
        for cut in cuts {
            points = cut;
            if points.len() <= most {
                break;
            }
        }
        points.sort_by_key(|(at, gained)| (std::cmp::Reverse(*gained), *at));
        points.truncate(most);
        points.into_iter().map(|(at, gained)| self.growing(at, gained)).collect()
    }

    /// The points that gained so much at least.
    fn cut(&self, least: i64) -> Vec<(usize, i64)> {
        let mut points: HashMap<usize, i64> = HashMap::new();
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            let mut rest = self.gains[at];
            for child in self.followed(at, least) {
                rest -= self.gains[child];
                open.push(child);
            }
            if rest >= least && at != 0 {
                *points.entry(self.name_of(at)).or_default() += rest;
            }
        }
        points.into_iter().collect()
    }

    fn followed(&self, at: usize, least: i64) -> impl Iterator<Item = usize> {
        let heavy = self.children.of_node(at).iter().map(|&child| child as usize);
        heavy.filter(move |&child| self.peaks[child] >= least && self.is_container(at, child))
    }

    /// Whether a child is not just one element of its parent.
    fn is_container(&self, parent: usize, child: usize) -> bool {
        let node = &self.later.nodes[child];
        if matches!(node.node, Node::Group(_)) || self.matches[child] != NOWHERE {
            return true;
        }
        if self.earlier.is_none() {
            return self.gains[child] >= self.gains[parent] / 4;
        }
        let siblings = self.children.of_node(parent).iter();
        siblings.filter(|&&sibling| self.later.nodes[sibling as usize].kind == node.kind).count() == 1
    }

    /// A chain is called by what holds its first node.
    fn name_of(&self, mut at: usize) -> usize {
        while self.later.nodes[at].is_chain && self.later.nodes[at].parent != 0 {
            at = self.later.nodes[at].parent as usize;
        }
        at
    }

    fn growing(&self, at: usize, gained: i64) -> Growing {
        let (node, before) = (&self.later.nodes[at], self.before(at));
        Growing {
            node: node.node,
            gained: Bytes::new(gained.max(0) as u64),
            before: before.map(|node| node.retained),
            after: node.retained,
            elements_before: before.map(|node| node.elements),
            elements: node.elements,
        }
    }
}

/// Lays the trees upon each other. A child is the same if it lies at the same address and is of the same kind. Of those that
/// are left under the same parent, the heaviest of a kind are the same in both: a buffer moves when it grows.
fn match_nodes(earlier: &Summary, later: &Summary, children: &Children) -> Vec<u32> {
    let before = Children::of(earlier);
    let mut matches = vec![NOWHERE; later.nodes.len()];
    if let (Some(first), false) = (matches.first_mut(), earlier.nodes.is_empty()) {
        *first = 0;
    }
    for at in 0..later.nodes.len() {
        if matches[at] != NOWHERE {
            let (old, new) = (before.of_node(matches[at] as usize), children.of_node(at));
            let left = match_by(old, new, &mut matches, |child, is_new| {
                let node = &if is_new { later } else { earlier }.nodes[child as usize];
                (group_of(node), node.address, node.kind)
            });
            match_by(&left, new, &mut matches, |child, is_new| {
                let node = &if is_new { later } else { earlier }.nodes[child as usize];
                (group_of(node), Addr::default(), node.kind)
            });
        }
    }
    matches
}

fn group_of(node: &SummaryNode) -> Option<u32> {
    match node.node {
        Node::Group(group) => Some(group),
        _ => None,
    }
}

type NodeKey = (Option<u32>, Addr, BlockKind);

/// Pairs nodes of one key, in the order in which they come, the heaviest first; returns those of the old ones that are left.
fn match_by(old: &[u32], new: &[u32], matches: &mut [u32], key: impl Fn(u32, bool) -> NodeKey) -> Vec<u32> {
    let mut waiting: HashMap<NodeKey, Vec<u32>> = HashMap::new();
    for &child in old.iter().rev() {
        waiting.entry(key(child, false)).or_default().push(child);
    }
    for &child in new {
        if matches[child as usize] == NOWHERE
            && let Some(found) = waiting.get_mut(&key(child, true)).and_then(Vec::pop)
        {
            matches[child as usize] = found;
        }
    }
    let left: HashSet<u32> = waiting.into_values().flatten().collect();
    old.iter().copied().filter(|child| left.contains(child)).collect()
}

/// The children of every node, the heaviest first.
struct Children {
    first: Vec<u32>,
    children: Vec<u32>,
}

impl Children {
    fn of(summary: &Summary) -> Self {
        let nodes = &summary.nodes;
        let mut children: Vec<u32> = (1..nodes.len() as u32).collect();
        let weight = |child: &u32| std::cmp::Reverse(nodes[*child as usize].retained.bytes);
        children.sort_by_key(|child| (nodes[*child as usize].parent, weight(child)));
        let first = (0..=nodes.len() as u32)
            .map(|at| children.partition_point(|child| nodes[*child as usize].parent < at) as u32);
        Self { first: first.collect(), children }
    }

    fn of_node(&self, at: usize) -> &[u32] {
        &self.children[self.first[at] as usize..self.first[at + 1] as usize]
    }
}
