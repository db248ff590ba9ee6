//! Watching the process tree while it runs: readings of each process every 20 ms, its time line, marks at intervals, progress for
//! whoever listens, and the moments at which ledgers and snapshots are taken. It starts nothing and seals nothing.

mod image;
mod intervals;
mod listeners;
mod progress;
mod readings;
mod timeline;
mod tree;

pub use listeners::Listeners;
pub use progress::{Progress, ProgressListener};
pub(crate) use readings::Readings;
pub(crate) use tree::{Ended, RunPaths, until_end};
