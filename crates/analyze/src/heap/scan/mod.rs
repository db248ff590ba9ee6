//! From words to pointers: every aligned word of every block and every root is read once, and the graph of those that point to a
//! block is kept. Which words do not count, and what a block is, is decided by the caller (`Links`); what the graph is asked for is not
//! known here.
//!
//! ```text
//!   heuristics, links ◀── edge ◀─┬─ pointer_scanner ◀──┐
//!   roots ◀──────────────────────┴─ root_edges ◀───────┼── graph ──▶ offsets        bases ──▶ graph
//! ```

mod bases;
mod edge;
mod graph;
mod heuristics;
mod links;
#[cfg(test)]
mod links_tests;
mod offsets;
mod pointer_scanner;
mod root_edges;
mod roots;

pub use bases::BasePointers;
pub(crate) use edge::Edge;
pub use graph::{BLOCK_STEP, Graph};
pub use heuristics::Heuristics;
pub use links::{Content, Links, NonOwningPart, Payload};
pub(crate) use root_edges::RootEdge;
pub use roots::{Holder, NamedRoot, RootOrigin, Roots};
