//! What it costs to look for memory errors: `bench/mixed.cpp` alone, under `heaplens run` and `memcheck`, and under Memcheck; and with samples, what guarding one
//! block of a thousand adds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::options::BenchOptions;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{compile, heaplens, target};

const VALGRIND: &str = "/usr/bin/valgrind";

/// A way to run the program.
struct CheckedRun {
    title: &'static str,
    words: &'static [&'static str],
    is_ours: bool,
    rounds: u32,
    /// What it may cost, and of which row.
    most: Option<(f64, usize)>,
}

const fn ours(title: &'static str, words: &'static [&'static str]) -> CheckedRun {
    CheckedRun { title, words, is_ours: true, rounds: 120, most: None }
}

const RUNS: [CheckedRun; 7] = [
    CheckedRun { is_ours: false, ..ours("bare", &[]) },
    ours("`run`", &["run", "--quiet"]),
    CheckedRun { most: Some((2.5, 0)), ..ours("`memcheck`", &["memcheck", "--quiet"]) },
    ours("`memcheck --freelist-vol=0`", &["memcheck", "--quiet", "--freelist-vol=0"]),
    CheckedRun {
        is_ours: false,
        rounds: 4,
        ..ours("Memcheck, `--track-origins=yes`", &[VALGRIND, "-q", "--track-origins=yes"])
    },
    ours("`run --sample 512KiB`", &["run", "--quiet", "--sample", "512KiB"]),
    CheckedRun {
        most: Some((1.02, 5)),
        ..ours(
            "the same with `--guard=sample:1000`",
            &["run", "--quiet", "--sample", "512KiB", "--guard=sample:1000"],
        )
    },
];

/// Runs all in turn, so often; of each the least counts.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let (heaplens, program) = (heaplens()?, compile("bench/mixed.cpp", "bench")?);
    let mut least = [f64::MAX; RUNS.len()];
    for round in 0..options.runs {
        for (run, least) in RUNS.iter().zip(&mut least) {
            eprintln!("{}: run {} of {}", run.title, round + 1, options.runs);
            *least = least.min(run.cost(&heaplens, &program)?);
        }
    }
    let head = ["", "CPU time of a round", "of bare", ""];
    let rows = RUNS.iter().enumerate().map(|(at, run)| run.row(at, &least));
    Ok(line(head) + &rule(head.len()) + &rows.collect::<String>())
}

impl CheckedRun {
    /// Nanoseconds of CPU time for one round.
    fn cost(&self, heaplens: &Path, program: &Path) -> Result<f64> {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(self.is_ours.then(|| heaplens.into()));
        words.extend(self.words.iter().map(OsString::from));
        if self.words.first() == Some(&"run") {
            words.extend([OsString::from("-o"), recording().into(), "--".into()]);
        }
        words.extend([OsString::from(program), self.rounds.to_string().into()]);
        let output = Command::new(&words[0]).args(&words[1..]).output();
        let output = output.with_context(|| format!("cannot start {}", self.title))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{} ended with {}: {printed}", self.title, output.status);
        said(&printed, "measured")?.get("cpu_ns").copied().context("it says its CPU time")
    }

    fn row(&self, at: usize, least: &[f64]) -> String {
        let limit = self.most.map_or_else(String::new, |(most, of)| {
            let ratio = least[at] / least[of];
            let verdict = if ratio <= most { "met" } else { "**missed**" };
            let of = if of == 0 { String::new() } else { format!(" of {}: {ratio:.3}x", RUNS[of].title) };
            format!("{most}x{of}: {verdict}")
        });
        let ratio = format!("{:.2}x", least[at] / least[0]);
        line([self.title, &format!("{:.1} ms", least[at] / 1e6), &ratio, &limit])
    }
}

fn recording() -> PathBuf {
    target().join("errors.hlr")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_judged_against_the_row_it_is_compared_with() {
        let least = [10e6, 20e6, 26e6, 24e6, 900e6, 11e6, 11.1e6];
        assert_eq!(RUNS[1].row(1, &least), "| `run` | 20.0 ms | 2.00x |  |\n");
        assert!(RUNS[2].row(2, &least).ends_with("| 26.0 ms | 2.60x | 2.5x: **missed** |\n"));
        assert!(RUNS[6].row(6, &least).ends_with("1.02x of `run --sample 512KiB`: 1.009x: met |\n"));
    }
}
