//! What each command does, one file each: its arguments, the examples of its help, and its way through `record`, `analyze` and
//! `report`. A command knows nothing of the others, nor of the command line as a whole.

pub(crate) mod agent;
pub(crate) mod diagnose;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod heap;
pub(crate) mod manual;
pub(crate) mod memcheck;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod snapshot;
