//! From a recording to what a report says: [`resolve_symbols`] gives frames their names and lines while the object
//! files exist and [`settle_loop_lines`] loops theirs, [`profile()`] merges, chooses, sums and diagnoses, [`diff`] compares two of them.
//! It formats nothing and never reaches for a running process by itself.
//!
//! ```text
//!   symbols ─▶ suppressions ────────────────────┐
//!   profile ─▶ trend ─▶ diagnose, holder_rules ─┴─▶ analysis (Profile) ─▶ diff          heap: one snapshot of a running process
//! ```
#![forbid(unsafe_code)]

mod analysis;
pub mod diagnose;
#[cfg(test)]
mod dice;
pub mod diff;
#[path = "../../../frameworks/mod.rs"]
mod frameworks;
pub mod heap;
pub mod holder_rules;
pub mod memcheck_engine;
pub mod packages;
pub mod profile;
pub mod suppressions;
mod symbols;
mod trend;

pub use analysis::{
    HolderOf, ImportCost, ImportedModule, Member, ProcessGroup, Profile, TreeLoss, imports, main_process,
    process_profile, profile, profile_by, remarks,
};
pub use diagnose::Remark;
pub use profile::NoSuchProcess;
pub use symbols::{
    CodeSegment, SymbolCache, code_of_line, code_segments, resolve_symbols, settle_loop_lines,
};
