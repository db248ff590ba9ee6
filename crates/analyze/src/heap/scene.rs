//! What is seen of a process that stands still: everything that a look at its heap needs.

use super::blocks::Block;
use super::globals::MappedFile;
use super::roots::{RootKind, RootRange, RootRegister};

/// A process that stands still.
#[derive(Clone, Debug)]
pub struct Scene<'m, M> {
    /// Its memory.
    pub memory: &'m M,
    /// Live blocks of `malloc` and its kin.
    pub blocks: Vec<Block>,
    /// Memory that leads to blocks: data, stacks, mappings.
    pub roots: Vec<RootRange>,
    /// Data of the C library, where its allocator keeps pointers to the chunks behind blocks.
    pub allocator_data: Vec<RootRange>,
    /// Registers of its threads.
    pub registers: Vec<RootRegister>,
    /// The files that it has mapped, in the order of addresses; the program itself is the first.
    pub files: Vec<MappedFile>,
    /// What is known of its interpreter.
    pub python: Option<PythonScene>,
}

/// An interpreter of Python's in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonScene {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Memory that holds small objects, as ranges of addresses.
    pub arenas: Vec<(u64, u64)>,
    /// Small objects whose site is known: those that were sampled.
    pub sampled: Vec<Block>,
}

/// Memory of which nothing is known but that it may lead to blocks.
pub(super) fn unknown(start: u64, end: u64) -> RootRange {
    RootRange { start, end, kind: RootKind::Anonymous, rank: LAST }
}

/// The rank of memory without a name.
pub(super) const LAST: u8 = 6;
