//! What was typed after `cargo xtask corpus`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

const WORDS: &str = "cargo xtask corpus [--truth | --rescore] [--fast | --held-out] [--only NAME]… [--class CLASS]… [--jobs N] \
                     [--heaplens PATH]";

/// What is done with each program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Run it without Heaplens and measure its growth.
    Truth,
    /// Run it under Heaplens and score the report.
    Score,
    /// Score the report of an earlier run: headers or rules have changed.
    Rescore,
}

/// Which part of the corpus is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but those kept aside; for the truth, all.
    Open,
    /// The twenty that are quick and need little.
    Fast,
    /// Those kept aside.
    HeldOut,
}

/// What to run, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct CorpusOptions {
    pub task: Task,
    pub part: Part,
    /// Parts of paths; none means all.
    pub only: Vec<String>,
    /// Names of classes; none means all.
    pub classes: Vec<String>,
    /// How many programs run at a time.
    pub jobs: usize,
    /// A built command, instead of one that is built for release.
    pub heaplens: Option<PathBuf>,
}

impl CorpusOptions {
    /// Parses the words, or says which is unknown.
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            task: Task::Score,
            part: Part::Open,
            only: Vec::new(),
            classes: Vec::new(),
            jobs: 1,
            heaplens: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} asks for a value\n\n{WORDS}"));
            match *word {
                "--truth" => options.task = Task::Truth,
                "--rescore" => options.task = Task::Rescore,
                "--fast" => options.part = Part::Fast,
                "--held-out" => options.part = Part::HeldOut,
                "--only" => options.only.push((*value()?).to_owned()),
                "--class" => options.classes.push((*value()?).to_owned()),
                "--jobs" => options.jobs = jobs(value()?)?,
                "--heaplens" => options.heaplens = Some(value()?.into()),
                _ => bail!("corpus knows no `{word}`\n\n{WORDS}"),
            }
        }
        Ok(options)
    }
}

fn jobs(typed: &str) -> Result<usize> {
    let jobs = typed.parse().with_context(|| format!("--jobs asks for a number, not `{typed}`"))?;
    ensure!(jobs > 0, "--jobs asks for at least one");
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_classes_add_up() {
        let words = ["--only", "lru", "--class", "c", "--only", "pool", "--jobs", "2"];
        let options = CorpusOptions::parse(&words).unwrap();
        assert_eq!((options.task, options.part, options.jobs), (Task::Score, Part::Open, 2));
        assert_eq!(options.only, ["lru", "pool"]);
        assert_eq!(options.classes, ["c"]);
    }

    #[test]
    fn words_without_meaning_are_refused() {
        assert!(CorpusOptions::parse(&["--jobs", "0"]).is_err());
        assert!(CorpusOptions::parse(&["--only"]).is_err());
        assert!(CorpusOptions::parse(&["truth"]).is_err());
    }
}
