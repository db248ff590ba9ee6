//! Labelled programs of the corpus as tests: the report on each must have the right verdict, holder and slope.

use std::thread;

use anyhow::Result;

use super::options::TestOptions;
use super::outcome::{Ending, Outcome};
use crate::corpus::{Checked, Quick};
use crate::workspace::target;

/// What the name of all of them begins with, and their group.
const CORPUS: &str = "corpus";

/// Sets up what they need; `None` where they are not asked for.
pub fn provide(options: &TestOptions) -> Option<Result<Quick>> {
    options.wants(CORPUS, false).then(Quick::provide)
}

/// Runs them under the command that the tests were built with.
pub fn run(programs: Option<Result<Quick>>) -> Vec<Outcome> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let checked = programs.map(|ready| ready?.check(target().join("debug/heaplens"), workers));
    let outcomes = match checked {
        Some(Ok(checked)) => checked.into_iter().map(outcome).collect(),
        Some(Err(error)) => vec![ended("all", Ending::Failed(format!("{error:#}")), 0.0)],
        None => Vec::new(),
    };
    outcomes.iter().for_each(Outcome::print);
    outcomes
}

fn outcome(checked: Checked) -> Outcome {
    let Checked { name, wrong, seconds } = checked;
    let ending = if wrong.is_empty() { Ending::Passed } else { Ending::Failed(wrong.join("\n")) };
    ended(&name, ending, seconds)
}

fn ended(name: &str, ending: Ending, seconds: f64) -> Outcome {
    Outcome { group: CORPUS.to_owned(), test: name.to_owned(), ending, seconds, cpu: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_with_something_wrong_fails() {
        let checked = |wrong: &[&str]| {
            let wrong = wrong.iter().map(|&what| what.to_owned()).collect();
            outcome(Checked { name: "c/a.c".to_owned(), wrong, seconds: 1.0 }).ending
        };
        assert_eq!(checked(&[]), Ending::Passed);
        assert_eq!(checked(&["holder", "slope"]), Ending::Failed("holder\nslope".to_owned()));
    }

    #[test]
    fn they_are_asked_for_by_a_change_and_by_name_and_not_by_a_quick_look() {
        let asks = |words: &[&str]| TestOptions::parse(words).unwrap().wants(CORPUS, false);
        assert!(asks(&[]) && asks(&["--all"]) && asks(&["--only", "corpus"]));
        assert!(!asks(&["--fast"]) && !asks(&["--only", "exit::"]));
    }
}
