//! What was typed after `cargo xtask bench`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

const WORDS: &str =
    "cargo xtask bench [--only ROW|SECTION]… [--runs N] [--python PATH] [--earlier PATH] [--write]";
const RUNS: usize = 5;

/// What becomes of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Printed.
    Print,
    /// Printed, and put into `docs/benchmarks.md`.
    Write,
}

/// What to measure, how often, and what becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// Beginnings of row names, and names of sections; none means all.
    pub only: Vec<String>,
    /// Runs of each tool on each row.
    pub runs: usize,
    /// A Python that has what the rows import, instead of the one that is set up below the build folder.
    pub python: Option<PathBuf>,
    /// The command of an earlier version, to be compared with this one instead of the peers.
    pub earlier: Option<PathBuf>,
    /// Print or write.
    pub keep: Keep,
}

impl BenchOptions {
    /// Parses the words, or says which is unknown.
    pub fn parse(words: &[&str]) -> Result<Self> {
        let mut options =
            Self { only: Vec::new(), runs: RUNS, python: None, earlier: None, keep: Keep::Print };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} asks for a value\n\n{WORDS}"));
            match *word {
                "--only" => options.only.push((*value()?).to_owned()),
                "--runs" => options.runs = runs(value()?)?,
                "--python" => options.python = Some(value()?.into()),
                "--earlier" => options.earlier = Some(value()?.into()),
                "--write" => options.keep = Keep::Write,
                _ => bail!("bench knows no `{word}`\n\n{WORDS}"),
            }
        }
        ensure!(
            options.earlier.is_none() || options.keep == Keep::Print,
            "--write keeps the comparison with the peers, which --earlier leaves out: choose one of them"
        );
        Ok(options)
    }
}

fn runs(typed: &str) -> Result<usize> {
    let runs = typed.parse().with_context(|| format!("--runs asks for a number, not `{typed}`"))?;
    ensure!(runs > 0, "--runs asks for at least one");
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_one_by_one() {
        let options = BenchOptions::parse(&["--only", "pairs", "--runs", "3", "--only", "mixed"]).unwrap();
        assert_eq!(options.only, ["pairs", "mixed"]);
        assert_eq!(options.runs, 3);
        assert_eq!(options.keep, Keep::Print);
    }

    #[test]
    fn a_word_without_its_value_is_refused() {
        let error = BenchOptions::parse(&["--runs"]).unwrap_err().to_string();
        assert!(error.contains("--runs asks for a value"), "{error}");
    }

    #[test]
    fn a_comparison_with_an_earlier_version_is_not_written_where_that_with_the_peers_is() {
        let earlier = BenchOptions::parse(&["--earlier", "/old/heaplens"]).unwrap().earlier;
        assert_eq!(earlier, Some("/old/heaplens".into()));
        assert!(BenchOptions::parse(&["--earlier", "/old/heaplens", "--write"]).is_err());
    }

    #[test]
    fn no_runs_at_all_are_refused() {
        assert!(BenchOptions::parse(&["--runs", "0"]).is_err());
    }
}
