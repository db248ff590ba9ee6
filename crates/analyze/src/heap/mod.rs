//! The heap of a snapshot, as a graph: live blocks, and the words in them that point to others. It knows memory only through
//! [`ReadMemory`], and takes every aligned word for a pointer that could be one.
//!
//! ```text
//!   Snapshot: blocks ──▶ Blocks ─┐            ┌─▶ LeakKinds: what is lost
//!             memory ────────────┼─▶ Graph ───┼─▶ Paths: how a root leads to a block
//!             root set ──────────┘            └─▶ Dominators: what goes with a block
//! ```

mod memory;
pub mod python;
mod reachability;
mod scan;
#[cfg(test)]
mod synthetic;
mod types;
mod view;

pub use heaplens_snapshot::ReadMemory;
pub use memory::{BlockId, Blocks, TooManyBlocks};
pub use reachability::{
    BlockKind, COLLECTOR_GROUP, Dominators, Growing, LeakKinds, Node, Path, Paths, Summary, SummaryNode,
    TooManyPointers, growing, largest,
};
pub use scan::{
    BasePointers, Content, Graph, Heuristics, Holder, Links, NamedRoot, NonOwningPart, Payload, RootOrigin,
    Roots,
};
pub use types::{CppClass, CppClasses, Global, Globals};
pub use view::Analysis;
