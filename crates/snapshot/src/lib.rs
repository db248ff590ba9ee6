//! One frozen heap: memory that no longer changes, the live blocks in it, and the root set that leads to them. It owns the types
//! that whoever takes a snapshot and whoever explains one agree on. It knows neither where a snapshot comes from nor what is made
//! of it: nothing here opens a process, a file or a symbol table.
//!
//! ```text
//!   stopped process ──┐                                                        ┌─▶ leak check
//!   forked copy ──────┼─▶ Snapshot: memory, blocks, roots, mappings, python ───┼─▶ reference paths
//!   self-forked copy ─┘             and what is missing                        └─▶ retained sizes
//!       record                                                                     analyze
//! ```
//!
//! A source that comes later, such as a core file or a process that is attached to, fills in a [`Snapshot`] and says what it could
//! not see.
#![forbid(unsafe_code)]

mod block;
mod examined;
mod mapping;
mod memory;
mod roots;
mod snapshot;
mod span;

pub use block::Block;
pub use examined::Examined;
pub use mapping::Mapping;
pub use memory::{Memory, ReadMemory};
pub use roots::{Rank, RootKind, RootRange, RootRegister, RootSet, ThreadState};
pub use snapshot::{Missing, PythonHeap, Snapshot};
pub use span::Span;
