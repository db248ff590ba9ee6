//! The tables of the arena, and what is kept beside them in private memory. Each knows the arena and the tables below it; none knows
//! threads, unwinding or the tracker that owns them all.

pub mod arena;
pub mod blocks;
mod changes;
pub mod counters;
pub mod errors;
pub mod filter;
pub mod frees;
mod layout;
pub mod mappings;
pub mod marks;
pub mod sampling;
#[cfg(test)]
pub(crate) mod scratch;
pub mod sections;
pub mod sites;
pub mod slot_id;
pub mod trie;
mod trie_names;
pub mod weight;
