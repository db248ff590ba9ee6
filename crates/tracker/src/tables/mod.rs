//! The tables of the arena, and what is kept beside them in private memory. Each knows the arena and the tables below it; none knows
//! threads, unwinding or the tracker that owns them all.

pub mod arena;
pub mod blocks;
pub mod counters;
pub mod filter;
pub mod mappings;
pub mod marks;
pub mod sampling;
pub mod sites;
pub mod trie;
mod trie_names;
