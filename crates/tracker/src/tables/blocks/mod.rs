//! The block table: which site made the block at this address, how large it is, which family it belongs to.
//!
//! A shadow of the address space (layout: [`heaplens_format::arena::block`]); two directory levels, then one word per
//! granule. A block is inserted by the thread that got it and removed by the thread that frees it, so nobody else writes
//! the same word; only when an allocator packs two blocks into one granule can two threads meet, and then every change
//! of the word is a compare-and-swap.
//!
//! Under glibc's allocator the word of a block that is freed keeps what it was, so that a second free is known for what it is. It is
//! a vacant word for everything else.

mod search;
mod table;

pub use search::Enclosing;
pub use table::{Block, Blocks, Full};
