//! The snapshot itself.

use heaplens_format::recording::errors::CanaryCheck;
use heaplens_format::{Addr, Nanos, Pid};

use crate::block::Block;
use crate::mapping::Mapping;
use crate::memory::Memory;
use crate::roots::RootSet;
use crate::span::Span;

/// A frozen heap. When it is dropped, the process is resumed or its copy ends.
#[derive(Debug)]
pub struct Snapshot {
    /// The process that it is of, which may be a copy's original.
    pub process: Pid,
    /// Its memory.
    pub memory: Memory,
    /// Live blocks of `malloc` and its kin; of a forked process with those that it inherited, which have no site.
    pub blocks: Vec<Block>,
    /// Those that the program keeps on purpose, by their addresses.
    pub ignored: Vec<Addr>,
    /// What leads to them from outside.
    pub roots: RootSet,
    /// Its address space, in the order of addresses; the first file is the program itself.
    pub mappings: Vec<Mapping>,
    /// Its Python interpreter.
    pub python: Option<PythonHeap>,
    /// How long the program was stopped for it; zero where it waited anyway.
    pub pause: Nanos,
    /// What is known to be missing.
    pub missing: Missing,
    /// What the canaries behind its blocks say, at no moment yet; `None` where they have none, or tables and memory are not of one moment.
    pub canaries: Option<CanaryCheck>,
    /// Sites whose blocks are to be examined, in order: those of a section. `None`: all are.
    pub focus: Option<Vec<u32>>,
}

/// Small objects of a Python interpreter, which are neither blocks nor roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonHeap {
    /// Major and minor version.
    pub version: (u8, u8),
    /// Memory out of which the interpreter allocates its small objects.
    pub arenas: Vec<Span>,
    /// Those of them whose allocating stack is known: a sample.
    pub sampled: Vec<Block>,
}

/// What a source could not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Registers of threads that ran on while memory was copied: what is reachable only from them seems to be lost.
    pub registers: bool,
}
