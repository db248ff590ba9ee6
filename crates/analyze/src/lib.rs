//! From a recording to what a report says: [`resolve_symbols`] gives frames their names and lines while the object
//! files are at hand, [`profile()`] merges, chooses and sums. It formats nothing and never looks at a running process.
#![forbid(unsafe_code)]

pub mod profile;
mod symbols;

pub use profile::{NoSuchProcess, Profile, profile};
pub use symbols::resolve_symbols;
