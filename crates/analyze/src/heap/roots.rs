//! What points into the heap from outside, and where each such pointer lies, so that a path can begin with a name.

use super::blocks::BlockId;
use super::edge::Edge;

/// What kind of memory a root lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootKind {
    /// Data of a module.
    Data,
    /// The stack of a thread, with the thread-local data behind it.
    Stack {
        /// As the kernel numbers it.
        thread: u32,
    },
    /// Memory that the program mapped itself.
    Mapped {
        /// The stack that mapped it, by whatever number.
        site: u32,
    },
    /// Memory of no known owner.
    Anonymous,
}

/// Memory that a program reaches by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRange {
    /// Where it begins.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// What it is.
    pub kind: RootKind,
    /// How late it is asked for a path: ranks are gone through one by one.
    pub rank: u8,
}

/// A register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRegister {
    /// As the kernel numbers it.
    pub thread: u32,
    /// What is in the register.
    pub word: u64,
    /// As [`RootRange::rank`].
    pub rank: u8,
}

/// A root that the caller has a name for: a module of Python's, a local variable of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRoot {
    /// As [`RootRange::rank`].
    pub rank: u8,
    /// Finds the name again.
    pub id: u32,
    /// The object that it holds.
    pub address: u64,
    /// Whether nothing else leads to the object: a way to what a module holds begins at this module, whichever others import
    /// it.
    pub is_sole: bool,
}

/// Where a program keeps what it can reach: everything that is looked at besides the blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// Memory: data of modules, stacks, thread-local storage.
    pub ranges: Vec<RootRange>,
    /// Memory that holds the state of glibc's allocator, too: it points to chunks, which begin 16 bytes before their blocks, and
    /// so into the last word of the block before.
    pub allocator_data: Vec<RootRange>,
    /// Memory that the program mapped itself and that is a block of the graph. It is reached by itself, as all memory of the
    /// program's own; but whoever points to it and is asked earlier leads to it.
    pub mappings: Vec<RootRange>,
    /// Registers of threads.
    pub registers: Vec<RootRegister>,
    /// Objects that are known by name.
    pub named: Vec<NamedRoot>,
    /// Parts of `ranges` in which no pointers are, in order.
    pub constants: Vec<(u64, u64)>,
}

impl Roots {
    /// Whether a word can be no pointer.
    pub(super) fn is_constant(&self, address: u64) -> bool {
        let behind = self.constants.partition_point(|&(start, _)| start <= address);
        behind > 0 && address < self.constants[behind - 1].1
    }
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootOrigin {
    /// A word of memory.
    Word {
        /// Where it lies.
        address: u64,
        /// In what kind of memory.
        kind: RootKind,
    },
    /// A register.
    Register {
        /// Of which thread.
        thread: u32,
    },
    /// A root with a name.
    Named {
        /// As the caller gave it.
        id: u32,
    },
    /// Python's collector, which knows every object that it tracks; asked last.
    Collector,
}

/// A pointer from a root to a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootEdge {
    pub(super) edge: Edge,
    /// Which of the ranges, registers or names; they are numbered in this order.
    source: u32,
    /// Of the word, where it lies in memory.
    address: u64,
}

/// All pointers from roots, sorted by rank; of one rank those that the caller named first come first.
#[derive(Debug, Default)]
pub(super) struct RootEdges {
    edges: Vec<RootEdge>,
    sources: Vec<Source>,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    origin: RootOrigin,
    rank: u8,
}

impl RootEdges {
    /// Makes a source; edges that are added next are its own.
    pub(super) fn begin(&mut self, origin: RootOrigin, rank: u8) {
        self.sources.push(Source { origin, rank });
    }

    pub(super) fn add(&mut self, edge: Edge, address: u64) {
        self.edges.push(RootEdge { edge, source: self.sources.len() as u32 - 1, address });
    }

    pub(super) fn sort(&mut self) {
        let Self { edges, sources } = self;
        edges.sort_by_key(|edge| sources[edge.source as usize].rank);
    }

    pub(super) fn all(&self) -> &[RootEdge] {
        &self.edges
    }

    pub(super) fn rank(&self, edge: &RootEdge) -> u8 {
        self.sources[edge.source as usize].rank
    }

    pub(super) fn origin(&self, edge: &RootEdge) -> RootOrigin {
        match self.sources[edge.source as usize].origin {
            RootOrigin::Word { kind, .. } => RootOrigin::Word { address: edge.address, kind },
            other => other,
        }
    }

    /// The edges of one rank after the other, each with the number of the first.
    pub(super) fn ranks(&self) -> impl Iterator<Item = (usize, &[RootEdge])> {
        let mut at = 0;
        self.edges.chunk_by(|one, next| self.rank(one) == self.rank(next)).map(move |edges| {
            let first = at;
            at += edges.len();
            (first, edges)
        })
    }
}

/// Memory that an object says is its own, and the part of it in which old pointers lie: each from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdlePart {
    /// All that it has there; a block begins with it.
    pub whole: (u64, u64),
    /// What of it holds nothing.
    pub idle: (u64, u64),
}

/// What is known of a block besides its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Words of the block that do not count as pointers, bit n for word n and the last one for all behind it: the collector's links
    /// to its neighbours, weak references, what lies behind an object.
    pub idle_words: u64,
    /// How many bytes behind the start of the block its object begins, to which others point: 0, 16 or 32.
    pub object_at: u8,
    /// Whether the collector knows it.
    pub is_tracked: bool,
}

impl Links {
    #[inline]
    pub(super) fn skips(&self, word: usize) -> bool {
        self.idle_words >> word.min(u64::BITS as usize - 1) & 1 != 0
    }
}

/// Whose memory a block is, told by the words that point to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The elements of a `std::vector`.
    Vector,
    /// The characters of a `std::string`.
    String,
}

impl Payload {
    /// What it is called.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Vector => "std::vector elements",
            Self::String => "std::string characters",
        }
    }
}

/// Where a path comes from: the block before, or a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Another block.
    Block(BlockId),
    /// A root.
    Root(RootOrigin),
}
