//! Reads an arena from the outside: its header while the process runs, its tables at one moment, and all of it at the end. It
//! trusts no number in an arena and never writes to one.

mod blocks;
mod codes;
mod copied;
mod counters;
mod error;
mod errors;
mod findings;
mod header;
mod marks;
mod process;
mod records;
mod sections;
mod site_counters;
mod stacks;
mod tables;
mod threads;

pub(crate) use blocks::{each, each_of_all};
pub(crate) use codes::complete_paths;
pub(crate) use copied::Copied;
pub use error::ArenaError;
pub(crate) use findings::Findings;
pub(crate) use header::read_loops;
pub use header::{HeaderReading, read_header};
pub use process::read_process;
pub(crate) use process::read_with_findings;
pub(crate) use records::word;
pub(crate) use sections::{read_sections, sites_of_section};
pub(crate) use stacks::{AllocationKind, allocation_kind_of};
pub(crate) use tables::{SeenMapping, Tables};
