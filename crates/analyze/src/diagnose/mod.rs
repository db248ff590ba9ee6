//! What grows, why, and what a run comes to: rules, the evidence that they are asked with, their findings, and the verdict.
//! It reads the profile of a process and the trends of its numbers; it formats nothing.
//!
//! ```text
//!   known ─▶ reclaim_test, unreachable ─▶ evidence ─▶ rule ─▶ rules, one file each ─▶ growing ─▶ verdict ─▶ judge, floor
//! ```

pub(crate) mod counting;
mod diagnosis;
pub(crate) mod evidence;
mod floor;
mod growing;
mod judge;
pub(crate) mod known;
mod plateau;
pub(crate) mod reclaim_test;
pub(crate) mod remark;
pub(crate) mod rule;
pub mod rules;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod unreachable;
mod verdict;
mod wholes;

pub use counting::{CountedLine, Counting, ThreadGrowth};
pub use diagnosis::Diagnosis;
pub use floor::Floor;
pub(crate) use judge::diagnose;
pub(crate) use known::Known;
pub use plateau::Plateau;
pub use remark::Remark;
pub use rule::{CollectedAtExit, Ending, Fill, Finding, GarbagePart, MeasuredBy, Outcome, Rule};
pub use verdict::Verdict;

pub use crate::trend::{How, Shape, Slope, Slowing, Trend};
