//! What the readings of a run cost: CPU time of the recorder itself while a program makes a mark every 10 ms, as a part of one
//! core, and what the marks cost the program. `bench/readings.py` reads both clocks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::super::options::BenchOptions;
use super::super::python;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{heaplens, printed, root, target};

/// How long each program runs, after a first second.
const SECONDS: &str = "10";
/// The part of one core that the recorder may take.
const MOST: f64 = 0.01;

/// What the table says, what the program imports, and how many KiB it keeps with every mark.
const PROGRAMS: [(&str, &str, &str); 4] = [
    ("a small Python program", "small", "0"),
    ("the same, 64 KiB kept with every mark", "small", "64"),
    ("TensorFlow imported", "tensorflow", "0"),
    ("the same, 64 KiB kept with every mark", "tensorflow", "64"),
];

/// Parts of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    resident: f64,
    recorder: f64,
    marks: f64,
}

/// Runs each program so often; neighbours on the machine only add to CPU time, so the least of each number counts.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let heaplens = heaplens()?;
    let python = python::provide(options.python.as_deref(), &["tensorflow"])?;
    let mut text =
        line(["", "resident", "recorder, of one core", "marks in the program, of one core", ""]) + &rule(5);
    for (title, module, kept) in PROGRAMS {
        let runs: Result<Vec<Shares>> =
            (0..options.runs).map(|_| run(&heaplens, &python, module, kept)).collect();
        text += &row(title, least(&runs?).context("there is a run")?);
    }
    Ok(text)
}

fn run(heaplens: &Path, python: &Path, module: &str, kept: &str) -> Result<Shares> {
    let recording: PathBuf = target().join("readings.hlr");
    let mut command = Command::new(heaplens);
    command.args(["run", "--quiet", "--passive", "-o"]).arg(&recording).arg("--").arg(python);
    command.arg(root().join("bench/readings.py")).args([module, kept, SECONDS]);
    let said = said(&printed(command.env("TF_CPP_MIN_LOG_LEVEL", "3"))?, "readings")?;
    let of = |name: &str| said.get(name).copied().with_context(|| format!("no {name} among {said:?}"));
    let wall = of("wall_ns")?;
    Ok(Shares {
        resident: of("rss_bytes")?,
        recorder: of("recorder_ns")? / wall,
        marks: of("marks_ns")? / wall,
    })
}

fn least(runs: &[Shares]) -> Option<Shares> {
    runs.iter().copied().reduce(|one, other| Shares {
        resident: one.resident.min(other.resident),
        recorder: one.recorder.min(other.recorder),
        marks: one.marks.min(other.marks),
    })
}

fn row(title: &str, shares: Shares) -> String {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let resident = format!("{:.0} MiB", shares.resident / f64::from(1 << 20));
    let word = if shares.recorder < MOST { "below 1 %" } else { "MISSED: 1 %" };
    line([title, &resident, &percent(shares.recorder), &percent(shares.marks), word])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_above_one_percent_is_missed() {
        let shares = Shares { resident: 20e6, recorder: 0.004, marks: 0.001 };
        assert_eq!(row("small", shares), "| small | 19 MiB | 0.40 % | 0.10 % | below 1 % |\n");
        assert!(row("small", Shares { recorder: 0.02, ..shares }).contains("MISSED"));
    }

    #[test]
    fn the_least_of_each_number_counts() {
        let (one, other) = (
            Shares { resident: 1.0, recorder: 0.2, marks: 0.3 },
            Shares { resident: 2.0, recorder: 0.1, marks: 0.4 },
        );
        assert_eq!(least(&[one, other]), Some(Shares { resident: 1.0, recorder: 0.1, marks: 0.3 }));
        assert_eq!(least(&[]), None);
    }
}
