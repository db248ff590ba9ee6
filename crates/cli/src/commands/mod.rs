//! The commands, one file each: arguments, examples for `--help`, and the calls into `record`, `analyze` and `report`. A command
//! knows neither the others nor the command line as a whole.

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
