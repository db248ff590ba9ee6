//! Stacks that allocated, each with what it had, by the threads that did so, and how far sampled numbers may be from the truth.

mod margin;
mod merge;
mod threads;

pub use margin::Margin;
pub(crate) use merge::{HeldAt, Intervals, end_of_script, merge, totals};
pub use merge::{Measure, SiteProfile, Totals};
pub use threads::ThreadPart;
pub(crate) use threads::Threads;
