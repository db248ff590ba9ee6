//! What is counted besides bytes, as a finding has it: events that go on with the iterations, threads that become more.

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

/// How the threads of a process, or those that one line starts, become more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadGrowth {
    /// More per iteration, or per second.
    pub per_iteration: f64,
    /// Stacks of threads at the last moment that is known.
    pub count: u64,
    /// Whether they have ended and were never joined; else they run.
    pub have_ended: bool,
}
