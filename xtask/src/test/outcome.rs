//! How tests ended and how long they took. Time is reported, and fails nobody.

use std::collections::BTreeMap;

use crate::check::Count;

const SLOWEST: usize = 20;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ran and was right.
    Passed,
    /// It ran and was wrong, or did not come to its end: with what it said.
    Failed(String),
    /// It cannot run here, with the reason.
    Skipped(String),
}

/// A test that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The crate, or the theme of the suite.
    pub group: String,
    /// Its name.
    pub test: String,
    /// How it ended.
    pub ending: Ending,
    /// How long it took.
    pub seconds: f64,
    /// The CPU time of all that it started, in seconds; of tests that share a process an equal part of it, 0 where it is not known.
    pub cpu: f64,
}

impl Outcome {
    /// A line on it, and what it said where it failed.
    pub fn print(&self) {
        let word = match &self.ending {
            Ending::Passed => "ok",
            Ending::Failed(_) => "FAILED",
            Ending::Skipped(_) => "skipped",
        };
        println!("{:>8.1} s {:>6.1} CPU s  {word:<7} {} {}", self.seconds, self.cpu, self.group, self.test);
        if let Ending::Failed(said) | Ending::Skipped(said) = &self.ending {
            println!("{said}");
        }
    }
}

/// How many ended how.
pub fn count(outcomes: &[Outcome]) -> Count {
    let one = |outcome: &Outcome| match outcome.ending {
        Ending::Passed => Count { passed: 1, ..Count::default() },
        Ending::Failed(_) => Count { failed: 1, ..Count::default() },
        Ending::Skipped(_) => Count { skipped: 1, ..Count::default() },
    };
    outcomes.iter().map(one).fold(Count::default(), Count::and)
}

/// The slowest tests, the time of each group, and what failed.
pub fn print_times(outcomes: &[Outcome]) {
    let mut slowest: Vec<&Outcome> = outcomes.iter().collect();
    slowest.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    println!("\nslowest tests");
    for Outcome { group, test, seconds, cpu, .. } in slowest.into_iter().take(SLOWEST) {
        println!("{seconds:>8.1} s {cpu:>6.1} CPU s  {group} {test}");
    }
    let mut groups: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
    for outcome in outcomes {
        let (tests, seconds, cpu) = groups.entry(&outcome.group).or_default();
        (*tests, *seconds, *cpu) = (*tests + 1, *seconds + outcome.seconds, *cpu + outcome.cpu);
    }
    println!("\ngroups");
    for (group, (tests, seconds, cpu)) in groups {
        println!("{seconds:>8.1} s {cpu:>6.1} CPU s  {group}, {tests} tests");
    }
    let failed: Vec<&Outcome> =
        outcomes.iter().filter(|outcome| matches!(outcome.ending, Ending::Failed(_))).collect();
    if !failed.is_empty() {
        println!("\nfailed");
        failed.iter().for_each(|outcome| println!("    {} {}", outcome.group, outcome.test));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_counts_once() {
        let ended = |ending| Outcome { group: "g".into(), test: "t".into(), ending, seconds: 1.0, cpu: 1.0 };
        let outcomes = [
            ended(Ending::Passed),
            ended(Ending::Passed),
            ended(Ending::Failed("why".into())),
            ended(Ending::Skipped("why".into())),
        ];
        assert_eq!(count(&outcomes), Count { passed: 2, failed: 1, skipped: 1 });
    }
}
