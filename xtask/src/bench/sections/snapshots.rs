//! How long a program is stopped for a heap snapshot: memory in pages of 4 KiB, and a million blocks. Beside it stands what
//! `fork` takes of a program of the same size without Heaplens (`bench/forks.cpp`), which is most of it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::super::options::BenchOptions;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{cargo, compile, heaplens, printed, root, succeed, target};

/// Snapshots for each number of a run.
const SNAPSHOTS: &str = "5";

/// MiB, and blocks of 48 bytes.
const PROGRAMS: [(u32, u32); 5] = [(256, 0), (1024, 0), (4096, 0), (64, 1_000_000), (1024, 1_000_000)];

/// Milliseconds that a snapshot may take, and for each GiB.
const FLOOR: f64 = 20.0;
const PER_GIB: f64 = 20.0;

/// The least of all runs, since neighbours on the machine only add to it.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let (heaplens, program, forks) = (heaplens()?, snapshots()?, compile("bench/forks.cpp", "bench")?);
    let pause = pause()?;
    let mut text = line(["", "blocks", "pause", "the longest", "`fork` alone", ""]) + &rule(6);
    for (mib, blocks) in PROGRAMS {
        let mut runs = Vec::new();
        for _ in 0..options.runs {
            runs.push(run(&heaplens, &program, &pause, mib, blocks)?);
        }
        let alone = said(&printed(Command::new(&forks).arg(mib.to_string()))?, "forks")?;
        let alone = alone.get("least_ns").copied().context("no least_ns")?;
        text += &row(mib, blocks, least(&runs).context("there is a run")?, alone);
    }
    Ok(text)
}

fn snapshots() -> Result<PathBuf> {
    let output = target().join("bench/images");
    let source = root().join("tests/programs/images.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-w", "-pthread", "-D_GNU_SOURCE", "-o"]).arg(&output).arg(source);
    succeed(&mut compiler)?;
    Ok(output)
}

fn pause() -> Result<PathBuf> {
    succeed(&mut cargo(&["build", "--release", "--package", "heaplens-record", "--example", "pause"]))?;
    Ok(target().join("release/examples/pause"))
}

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pauses {
    least: f64,
    most: f64,
}

fn run(heaplens: &Path, program: &Path, pause: &Path, mib: u32, blocks: u32) -> Result<Pauses> {
    let recording = target().join("snapshots.hlr");
    let mut command = Command::new(heaplens);
    command.args(["run", "--quiet", "--passive", "-o"]).arg(recording).arg("--").arg(program);
    command.args(["large", &mib.to_string(), &blocks.to_string()]);
    let mut run =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start heaplens")?;
    let pauses = ready(&mut run).and_then(|pid| {
        let said = said(&printed(Command::new(pause).args([&pid, SNAPSHOTS]))?, "snapshots")?;
        let of = |name: &str| said.get(name).copied().with_context(|| format!("no {name} among {said:?}"));
        Ok(Pauses { least: of("least_ns")?, most: of("most_ns")? })
    });
    run.stdin.take().context("stdin is a pipe")?.write_all(b"\n").context("the program listens")?;
    run.wait().context("heaplens ends")?;
    pauses
}

/// Waits for `ready PID …`.
fn ready(run: &mut Child) -> Result<String> {
    let mut line = String::new();
    BufReader::new(run.stdout.as_mut().context("stdout is a pipe")?).read_line(&mut line)?;
    line.split(' ').nth(1).map(str::to_owned).with_context(|| format!("the program said: {line}"))
}

fn least(runs: &[Pauses]) -> Option<Pauses> {
    runs.iter()
        .copied()
        .reduce(|one, other| Pauses { least: one.least.min(other.least), most: one.most.max(other.most) })
}

fn row(mib: u32, blocks: u32, pauses: Pauses, alone: f64) -> String {
    let ms = |nanos: f64| format!("{:.1} ms", nanos / 1e6);
    let allowed = FLOOR + PER_GIB * f64::from(mib) / 1024.0;
    let word = if pauses.least / 1e6 <= allowed { "below" } else { "MISSED:" };
    line([
        &format!("{mib} MiB"),
        &blocks.to_string(),
        &ms(pauses.least),
        &ms(pauses.most),
        &ms(alone),
        &format!("{word} {allowed:.0} ms"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_judged_by_what_the_program_has() {
        let pauses = Pauses { least: 30e6, most: 50e6 };
        assert_eq!(
            row(1024, 0, pauses, 20e6),
            "| 1024 MiB | 0 | 30.0 ms | 50.0 ms | 20.0 ms | below 40 ms |\n"
        );
        assert!(row(256, 0, pauses, 20e6).contains("MISSED: 25 ms"));
    }

    #[test]
    fn of_several_runs_the_least_and_the_longest_count() {
        let one = Pauses { least: 1.0, most: 2.0 };
        let other = Pauses { least: 0.5, most: 1.0 };
        assert_eq!(least(&[one, other]), Some(Pauses { least: 0.5, most: 2.0 }));
    }
}
