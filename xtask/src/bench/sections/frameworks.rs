//! What it costs to know TensorFlow: steps under Heaplens with its probes, pools and threads known, and with `--frameworks no`, side by side.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::options::BenchOptions;
use super::super::python;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{heaplens, root, target};

/// A kind of step of `bench/tensorflow_steps.py`, how many are made, and what they may take of the time without.
const STEPS: [(&str, u32, f64); 4] =
    [("eager", 600, 1.05), ("function", 3000, 1.02), ("session", 3000, 1.05), ("keras", 60, 1.03)];

/// Where both ways run: they share one processor, so that whatever else the machine does meets both alike.
const PROCESSOR: &str = "0";

/// Runs both ways so often, at the same time; the middle one of the ratios counts.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let (heaplens, python) = (heaplens()?, python::provide(options.python.as_deref(), &["tensorflow"])?);
    let head = ["step", "without, CPU", "with, CPU", "ratio", "all ratios", ""];
    let mut text = line(head) + &rule(head.len());
    for (step, count, most) in STEPS {
        let mut pairs = Vec::new();
        for round in 0..options.runs {
            eprintln!("{step}: run {} of {}", round + 1, options.runs);
            let [without, with] =
                ["no", "yes"].map(|frameworks| start(&heaplens, &python, step, count, frameworks));
            pairs.push((cost(without?)?, cost(with?)?));
        }
        text += &row(step, pairs, most);
    }
    Ok(text)
}

fn start(heaplens: &Path, python: &Path, step: &str, count: u32, frameworks: &str) -> Result<Child> {
    let mut command = Command::new("taskset");
    command.args(["-c", PROCESSOR]).arg(heaplens);
    command.args(["run", "--quiet", "--passive", "--heap", "no", "--frameworks", frameworks, "-o"]);
    command.arg(target().join(format!("frameworks-{frameworks}.hlr"))).arg("--").arg(python);
    command.arg(root().join("bench/tensorflow_steps.py")).args([step, &count.to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().with_context(|| format!("cannot start {command:?}"))
}

/// Nanoseconds of CPU time for one step.
fn cost(running: Child) -> Result<f64> {
    let output = running.wait_with_output().context("it cannot be waited for")?;
    let words = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "steps under heaplens ended with {}: {words}", output.status);
    said(&words, "measured")?.get("cpu_ns").copied().with_context(|| format!("no cpu_ns in {words}"))
}

/// `pairs` are times without and with.
fn row(step: &str, mut pairs: Vec<(f64, f64)>, most: f64) -> String {
    let ratio = |&(without, with): &(f64, f64)| with / without;
    pairs.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let all: Vec<String> = pairs.iter().map(|pair| format!("{:.2}", ratio(pair))).collect();
    let Some(middle) = pairs.get((pairs.len() - 1) / 2) else { return String::new() };
    let micro = |ns: f64| format!("{:.1} µs", ns / 1e3);
    let verdict = if ratio(middle) <= most { "met" } else { "**missed**" };
    let limit = format!("{most:.2}x: {verdict}");
    let ratio = format!("{:.3}x", ratio(middle));
    line([step, &micro(middle.0), &micro(middle.1), &ratio, &all.join(" "), &limit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_met_or_missed() {
        let met = "| eager | 1.0 µs | 1.0 µs | 1.040x | 0.90 1.04 1.20 | 1.05x: met |\n";
        let pairs = vec![(1000.0, 1200.0), (1000.0, 1040.0), (1000.0, 900.0)];
        assert_eq!(row("eager", pairs, 1.05), met);
        assert!(row("eager", vec![(1000.0, 1060.0)], 1.05).contains("**missed**"));
    }
}
