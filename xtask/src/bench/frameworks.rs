//! What it costs to know TensorFlow: steps under Heaplens with its probes, pools and threads known, and with `--frameworks no`, in turn.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::options::Options;
use super::python;
use super::sections::said;
use super::text::{line, rule};
use crate::workspace::{heaplens, root, target};

/// A kind of step of `bench/tensorflow_steps.py`, how many are made, and what they may take of the time without.
const STEPS: [(&str, u32, f64); 4] =
    [("eager", 600, 1.05), ("function", 3000, 1.02), ("session", 3000, 1.05), ("keras", 60, 1.03)];

/// Runs both ways so often in turn; of each the least counts.
pub fn measure(options: &Options) -> Result<String> {
    let (heaplens, python) = (heaplens()?, python::provide(options.python.as_deref(), &["tensorflow"])?);
    let head = ["step", "without, CPU", "with, CPU", "", ""];
    let mut text = line(head) + &rule(head.len());
    for (step, count, most) in STEPS {
        let (mut without, mut with) = (f64::MAX, f64::MAX);
        for round in 0..options.runs {
            eprintln!("{step}: run {} of {}", round + 1, options.runs);
            without = without.min(cost(&heaplens, &python, step, count, "no")?);
            with = with.min(cost(&heaplens, &python, step, count, "yes")?);
        }
        text += &row(step, without, with, most);
    }
    Ok(text)
}

/// Nanoseconds of CPU time for one step.
fn cost(heaplens: &Path, python: &Path, step: &str, count: u32, frameworks: &str) -> Result<f64> {
    let mut command = Command::new(heaplens);
    command.args(["run", "--quiet", "--passive", "--heap", "no", "--frameworks", frameworks, "-o"]);
    command.arg(target().join("frameworks.hlr")).arg("--").arg(python);
    command.arg(root().join("bench/tensorflow_steps.py")).args([step, &count.to_string()]);
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    said(&words, "measured")?.get("cpu_ns").copied().with_context(|| format!("no cpu_ns in {words}"))
}

fn row(step: &str, without: f64, with: f64, most: f64) -> String {
    let (ratio, micro) = (with / without, |ns: f64| format!("{:.1} µs", ns / 1e3));
    let verdict = if ratio <= most { "met" } else { "**missed**" };
    line([step, &micro(without), &micro(with), &format!("{ratio:.3}x"), &format!("{most:.2}x: {verdict}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_met_or_missed() {
        assert_eq!(row("eager", 1000.0, 1040.0, 1.05), "| eager | 1.0 µs | 1.0 µs | 1.040x | 1.05x: met |\n");
        assert!(row("eager", 1000.0, 1060.0, 1.05).contains("**missed**"));
    }
}
