//! What the graph says: which blocks are lost, which are garbage, the path by which a root reaches a block, what a block retains, and
//! what grew since the snapshot before. It reads no memory and gives nothing a name.
//!
//! ```text
//!   graph ─┬─▶ leak_kinds
//!          ├─▶ native_tables ─▶ unreachable
//!          ├─▶ paths ─────▶ tops
//!          └─▶ nodes ─────▶ dominators ─▶ summary ─▶ growing
//! ```

mod block_state;
mod dominators;
#[cfg(test)]
mod drawn_tests;
mod growing;
#[cfg(test)]
mod growing_tests;
mod leak_kinds;
#[cfg(test)]
mod leak_kinds_tests;
mod native_tables;
mod nodes;
mod paths;
mod summary;
mod tops;
mod unreachable;

pub(crate) use block_state::ReferenceCounts;
pub use dominators::{COLLECTOR_GROUP, Dominators, Node, TooManyPointers};
pub use growing::{Growing, growing, largest};
pub use leak_kinds::LeakKinds;
pub use paths::{Path, Paths};
pub use summary::{BlockKind, Summary, SummaryNode};
pub(crate) use unreachable::Unreachable;
