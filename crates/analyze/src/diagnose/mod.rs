//! What grows, why, and what a run comes to: rules, the evidence that they are asked with, their findings, and the verdict.
//! It reads the profile of a process and the trends of its numbers; it formats nothing.

mod causes;
mod counted;
mod findings;
mod growing_sites;
mod judge;
mod mappings;
mod reclaim_test;
mod rule;
pub mod rules;
#[cfg(test)]
pub(crate) mod testing;
mod thread_growth;
mod verdict;

pub use causes::Counting;
pub use counted::CountedLine;
pub use findings::Finding;
pub use judge::Growth;
pub(crate) use judge::{Known, growth};
pub use rule::{Ending, MeasuredBy, Outcome, Rule};
pub use rules::warm_up::Plateau;
pub use thread_growth::Threads;
pub use verdict::Verdict;

pub use crate::trend::{How, Shape, Slope, Slowing, Trend};

/// What rules are written with.
pub(crate) use findings::{Line as GrowthLine, unexplained};
pub(crate) use growing_sites::Course;
#[cfg(test)]
pub(crate) use judge::OF_ITERATIONS;
pub(crate) use judge::{LEAST_OF_LINE, LEAST_TO_STOP};
pub(crate) use reclaim_test::Returned;
pub(crate) use rule::{Claims, Events, Evidence, Reads, Text, Within};
