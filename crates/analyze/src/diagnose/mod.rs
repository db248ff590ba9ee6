//! What grows, why, and what a run comes to: rules, the evidence that they are asked with, their findings, and the verdict.
//! It reads the profile of a process and the trends of its numbers; it formats nothing.
//!
//! ```text
//!   known, reclaim_test ─▶ evidence ─▶ rule ─▶ rules, one file each ─▶ causes ─▶ growing_sites ─▶ findings ─▶ judge
//! ```

mod causes;
mod counted;
mod counting;
mod diagnosis;
pub(crate) mod evidence;
mod findings;
mod growing_sites;
mod held_lines;
mod judge;
pub(crate) mod known;
mod mappings;
mod plateau;
pub(crate) mod reclaim_test;
pub(crate) mod remark;
pub(crate) mod rule;
pub mod rules;
mod site_sum;
#[cfg(test)]
pub(crate) mod testing;
mod thread_growth;
mod verdict;
mod wholes;

pub use counting::{CountedLine, Counting};
pub use diagnosis::Diagnosis;
pub(crate) use judge::diagnose;
pub(crate) use known::Known;
pub use plateau::Plateau;
pub use remark::Remark;
pub use rule::{Ending, Finding, MeasuredBy, Outcome, Rule};
pub use thread_growth::ThreadGrowth;
pub use verdict::Verdict;

pub use crate::trend::{How, Shape, Slope, Slowing, Trend};
