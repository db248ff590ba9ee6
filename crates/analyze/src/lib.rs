//! From a recording to what a report says: [`resolve_symbols`] gives frames their names and lines while the object
//! files are at hand and [`settle_loop_lines`] loops theirs, [`profile()`] merges, chooses and sums, [`diff`] compares two of them. It formats nothing and never reaches for a running process by itself.
#![forbid(unsafe_code)]

#[cfg(test)]
mod dice;
pub mod diff;
#[path = "../../../frameworks/mod.rs"]
mod frameworks;
pub mod growth;
pub mod heap;
mod loops;
pub mod packages;
pub mod profile;
mod remarks;
pub mod rules;
pub mod suppressions;
mod symbols;

pub use loops::settle_loop_lines;
pub use profile::{NoSuchProcess, Profile, profile};
pub use remarks::{Remark, remarks};
pub use symbols::{CodeSegment, code_segments, resolve_symbols};
