//! Events that go on with the iterations, as a finding has them.

use crate::profile::StackId;

/// What was counted for a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// What.
    pub counter: &'static str,
    /// Events per iteration, without those that were taken back.
    pub per_iteration: f64,
    /// By line, those with most of it first.
    pub lines: Vec<CountedLine>,
}

/// Events of one line that go on with the iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedLine {
    /// A stack that the line is named by.
    pub stack: StackId,
    /// Events per iteration.
    pub per_iteration: f64,
}
