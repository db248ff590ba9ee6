//! The heap of a snapshot, as a graph: live blocks, and the words in them that point to others. It knows memory only through
//! [`ReadMemory`], and takes every aligned word for a pointer that could be one.
//!
//! ```text
//!   Snapshot: blocks ──▶ Blocks ─┐            ┌─▶ Kinds: what is lost
//!             memory ────────────┼─▶ Graph ───┼─▶ Paths: how a root leads to a block
//!             root set ──────────┘            └─▶ Dominators: what goes with a block
//! ```

mod analysis;
mod block_id;
mod blocks;
mod classes;
mod dominators;
#[cfg(test)]
mod drawn_tests;
mod edge;
mod globals;
mod graph;
mod growing;
#[cfg(test)]
mod growing_tests;
mod index;
mod interner;
mod kinds;
mod links;
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
mod offsets;
mod pages;
mod paths;
mod pointer_scanner;
pub mod python;
mod reading;
mod reference_paths;
mod root_edges;
mod roots;
mod runtime;
mod samples;
mod summary;
#[cfg(test)]
mod synthetic;
mod tops;
mod type_resolver;
mod typed_heap;
mod view;

pub use analysis::Analysis;
pub use block_id::BlockId;
pub use blocks::{Blocks, TooManyBlocks};
pub use classes::{Classes, CppClass};
pub use dominators::{COLLECTOR_GROUP, Dominators, Node, TooManyPointers};
pub use globals::{Global, Globals};
pub use graph::Graph;
pub use growing::{Growing, growing, largest};
pub use heaplens_snapshot::ReadMemory;
pub use kinds::Kinds;
pub use links::{Links, NonOwningPart, Payload};
pub use paths::{Content, Path, Paths};
pub use roots::{Holder, NamedRoot, RootOrigin, Roots};
pub use summary::{BlockKind, Summary, SummaryNode};
