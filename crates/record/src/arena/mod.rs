//! Reads an arena from the outside: its header while the process runs, its tables at one moment, and all of it at the end. This room
//! trusts no number in an arena and never writes to one.

mod blocks;
mod codes;
mod copied;
mod counters;
mod marks;
mod process;
mod stacks;
mod tables;
mod threads;

pub(crate) use blocks::{Block, each, each_of_all};
pub(crate) use codes::complete_paths;
pub(crate) use copied::Copied;
pub use process::{ArenaError, HeaderReading, read_header, read_process};
pub(crate) use process::{Findings, read_loops, read_with_findings, string, word};
pub(crate) use stacks::{Ground, ground_of};
pub(crate) use tables::Tables;
