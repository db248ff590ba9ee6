//! CPython 3.8 to 3.14 as it lies in memory: where its structures keep what Heaplens reads, how its instructions and its
//! tables of lines are written, and small readers on both. All foreign memory is read through [`ReadMemory`], so that the same
//! readers serve a thread that reads its own frames and a process that stands still.
//!
//! The crate allocates nothing, keeps nothing, and trusts no word that it reads: whatever is asked for may be half written or no
//! object at all, as long as its address could be one ([`is_address`]). It decides nothing either: which frames are walked, what
//! is kept in mind, and what an object is called is for the crates that use it.
//!
//! ```text
//!   headers ─▶ generated: fixed, and a table of each version ─▶ debug_offsets (what an interpreter says itself) ─▶ recognise
//!   (`cargo xtask cpython-tables`)        │
//!                                         └─▶ readers on a layout: frames, code, unicode, dicts, pools, iterators, …
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod bytecode;
pub mod code;
pub mod debug_offsets;
pub mod dicts;
pub mod frames;
mod generated;
pub mod integers;
pub mod iterators;
pub mod layout;
pub mod lines;
mod memory;
#[cfg(test)]
mod noise_tests;
pub mod pools;
pub mod recognise;
mod table;
pub mod type_objects;
pub mod unicode;
mod version;

pub use generated::fixed;
pub use layout::Layout;
pub use memory::{ReadMemory, is_address};
pub use version::Version;
