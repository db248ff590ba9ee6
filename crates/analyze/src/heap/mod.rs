//! The heap of a process that stands still, as a graph: live blocks, and the words in them that point to others. It knows
//! memory only through [`ReadMemory`], and takes every aligned word for a pointer that could be one.
//!
//! ```text
//!   blocks (block table) ─▶ Blocks ─┐            ┌─▶ Kinds: what is lost
//!   memory ─────────────────────────┼─▶ Graph ───┼─▶ Paths: how a root leads to a block
//!   roots: data, stacks, registers ─┘            └─▶ Dominators: what goes with a block
//! ```

mod blocks;
mod classes;
mod dominators;
#[cfg(test)]
mod drawn_tests;
mod edge;
mod examine;
mod globals;
mod graph;
mod growing;
#[cfg(test)]
mod growing_tests;
mod index;
mod interner;
mod kinds;
#[cfg(test)]
mod links_tests;
#[cfg(test)]
mod mappings_tests;
mod marked;
mod memory;
#[cfg(test)]
mod naive;
mod namer;
mod nodes;
mod objects;
mod offsets;
mod pages;
mod paths;
pub mod python;
mod reading;
mod roots;
mod runtime;
mod samples;
mod scan;
mod scene;
mod summary;
#[cfg(test)]
mod synthetic;
mod tops;
mod ways;

pub use blocks::{Block, BlockId, Blocks, TooManyBlocks};
pub use classes::{Classes, CppClass};
pub use dominators::{COLLECTOR_GROUP, Dominators, Node, TooManyPointers};
pub use examine::{Examiner, Look};
pub use globals::{Global, Globals, MappedFile};
pub use graph::Graph;
pub use growing::{Growing, growing, largest};
pub use kinds::Kinds;
pub use memory::ReadMemory;
pub use paths::{Content, Path, Paths};
pub use roots::{
    Holder, IdlePart, Links, NamedRoot, Payload, RootKind, RootOrigin, RootRange, RootRegister, Roots,
};
pub use scene::{PythonScene, Scene};
pub use summary::{BlockKind, Summary, SummaryNode};
