//! The heap of a process that stands still, as a graph: live blocks, and the words in them that point to others. It knows
//! memory only through [`ReadMemory`], and takes every aligned word for a pointer that could be one.
//!
//! ```text
//!   blocks (block table) ─▶ Blocks ─┐
//!   memory ─────────────────────────┼─▶ Graph ─▶ leak kinds
//!   roots: data, stacks, registers ─┘
//! ```

mod blocks;
mod graph;
mod kinds;
mod memory;
#[cfg(test)]
mod naive;

pub use blocks::{Block, BlockId, Blocks, TooManyBlocks};
pub use graph::{Graph, Roots};
pub use kinds::Kinds;
pub use memory::ReadMemory;
