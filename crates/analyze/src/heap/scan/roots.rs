//! What points into the heap from outside, and where each such pointer lies, so that a path can begin with a name.

use heaplens_format::Addr;
use heaplens_snapshot::{Rank, RootKind, RootRange, RootRegister, Span};

use crate::heap::memory::BlockId;

/// A root that the caller has a name for: a module of Python's, a local variable of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRoot {
    /// How early it is asked for a path.
    pub rank: Rank,
    /// Finds the name again.
    pub id: u32,
    /// The object that it holds.
    pub address: Addr,
    /// Whether nothing else leads to the object: a path to what a module holds begins at this module, whichever others import
    /// it.
    pub is_sole: bool,
}

/// Where a program keeps what it can reach: everything that is read besides the blocks.
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
    pub constants: Vec<Span>,
}

impl Roots {
    /// Whether a word can be no pointer.
    pub(crate) fn is_constant(&self, address: Addr) -> bool {
        let after = self.constants.partition_point(|span| span.start <= address);
        after > 0 && address < self.constants[after - 1].end
    }
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootOrigin {
    /// A word of memory.
    Word {
        /// Where it lies.
        address: Addr,
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

/// Where a path comes from: the block before, or a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Another block.
    Block(BlockId),
    /// A root.
    Root(RootOrigin),
}
