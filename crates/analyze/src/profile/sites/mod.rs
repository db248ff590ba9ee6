//! Stacks that allocated, each with what it had, by the threads that did so, and how far sampled numbers may be from the truth.

mod margin;
mod merge;
mod site;
mod threads;

pub use margin::Margin;
pub(crate) use merge::{HeldAt, Intervals, MergedSites, end_of_script, merge, totals};
pub(crate) use site::is_python_pool;
pub use site::{Measure, SiteProfile, Totals};
pub(crate) use threads::SiteThreads;
pub use threads::ThreadPart;
