//! Pointers from roots to blocks, in the order in which roots are asked for a path.

use heaplens_format::Addr;
use heaplens_snapshot::Rank;

use super::edge::Edge;
use super::roots::RootOrigin;

/// A pointer from a root to a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootEdge {
    pub(crate) edge: Edge,
    /// Which of the ranges, registers or names; they are numbered in this order.
    source: u32,
    /// Of the word, where it lies in memory.
    address: Addr,
}

/// All pointers from roots, sorted by rank; of one rank those that the caller named first come first.
#[derive(Debug, Default)]
pub(crate) struct RootEdges {
    edges: Vec<RootEdge>,
    sources: Vec<Source>,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    origin: RootOrigin,
    rank: Rank,
}

impl RootEdges {
    /// Makes a source; edges that are added next are its own.
    pub(crate) fn begin(&mut self, origin: RootOrigin, rank: Rank) {
        self.sources.push(Source { origin, rank });
    }

    pub(crate) fn add(&mut self, edge: Edge, address: Addr) {
        self.edges.push(RootEdge { edge, source: self.sources.len() as u32 - 1, address });
    }

    pub(crate) fn sort(&mut self) {
        let Self { edges, sources } = self;
        edges.sort_by_key(|edge| sources[edge.source as usize].rank);
    }

    pub(crate) fn all(&self) -> &[RootEdge] {
        &self.edges
    }

    pub(crate) fn rank(&self, edge: &RootEdge) -> Rank {
        self.sources[edge.source as usize].rank
    }

    pub(crate) fn origin(&self, edge: &RootEdge) -> RootOrigin {
        match self.sources[edge.source as usize].origin {
            RootOrigin::Word { kind, .. } => RootOrigin::Word { address: edge.address, kind },
            other => other,
        }
    }

    /// The edges of one rank after the other, each with the number of the first.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = (usize, &[RootEdge])> {
        let mut at = 0;
        self.edges.chunk_by(|one, next| self.rank(one) == self.rank(next)).map(move |edges| {
            let first = at;
            at += edges.len();
            (first, edges)
        })
    }
}
