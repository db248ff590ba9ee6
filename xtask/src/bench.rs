//! `cargo xtask bench`: what a malloc/free pair costs bare, under Heaplens and under heaptrack (record only), at three stack
//! depths. Interleaved runs, the minimum of each, and ratios to bare.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::packages::{self, FOR_BENCHMARKS};
use crate::workspace::{commit, compile, heaplens, printed, root, target};

const DEPTHS: [u32; 3] = [10, 30, 80];
const ROUNDS: usize = 5;
const PAIRS: u32 = 3_000_000;
const HEAPTRACK: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";
const BEGIN: &str = "<!-- cargo xtask bench --write: begin -->\n";
const END: &str = "<!-- cargo xtask bench --write: end -->\n";

/// What becomes of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Printed.
    Print,
    /// Printed, and put into `docs/benchmarks.md`.
    Write,
}

/// One way to run the program.
struct Way {
    name: &'static str,
    start: Box<dyn Fn() -> Command>,
}

/// Measures, prints, keeps.
pub fn run(keep: Keep) -> Result<()> {
    packages::provide(FOR_BENCHMARKS);
    let program = compile("bench/pairs.cpp", "bench")?;
    let ways = ways(&program, heaplens()?);
    let mut rows = Vec::new();
    for depth in DEPTHS {
        rows.push((depth, fastest(&ways, depth)?));
    }
    let table = table(&ways, &rows);
    println!("{table}");
    if keep == Keep::Write { write(&table) } else { Ok(()) }
}

fn ways(program: &Path, heaplens: PathBuf) -> Vec<Way> {
    let (bare, tracked, compared) = (program.to_owned(), program.to_owned(), program.to_owned());
    let recording = target().join("bench/pairs.hlr");
    let under_heaplens = move || {
        let mut command = Command::new(&heaplens);
        command.args(["run", "-o"]).arg(&recording).arg("--").arg(&tracked);
        command
    };
    let under_heaptrack = move || {
        let mut command = Command::new(&compared);
        command.env("LD_PRELOAD", HEAPTRACK).env("DUMP_HEAPTRACK_OUTPUT", "/dev/null");
        command
    };
    let mut ways = vec![
        Way { name: "bare", start: Box::new(move || Command::new(&bare)) },
        Way { name: "Heaplens", start: Box::new(under_heaplens) },
    ];
    if Path::new(HEAPTRACK).exists() {
        ways.push(Way { name: "heaptrack, record only", start: Box::new(under_heaptrack) });
    }
    ways
}

/// The smallest time of each way. One run of each in turn, so that a slow minute of the machine hits all of them.
fn fastest(ways: &[Way], depth: u32) -> Result<Vec<f64>> {
    let mut minima = vec![f64::INFINITY; ways.len()];
    for _ in 0..ROUNDS {
        for (way, minimum) in ways.iter().zip(&mut minima) {
            *minimum = minimum.min(nanoseconds(way, depth)?);
        }
    }
    Ok(minima)
}

/// The program times itself and prints the result on a line of its own, before or among whatever else is printed.
fn nanoseconds(way: &Way, depth: u32) -> Result<f64> {
    let output = printed((way.start)().args([depth.to_string(), PAIRS.to_string()]))?;
    let number = output.lines().find_map(|line| line.parse().ok());
    number.with_context(|| format!("{} printed no time: {output}", way.name))
}

fn table(ways: &[Way], rows: &[(u32, Vec<f64>)]) -> String {
    let mut text = String::from("| depth |");
    for way in ways {
        write!(text, " {} |", way.name).expect("a string takes all");
    }
    text += "\n|---|";
    text += &"---|".repeat(ways.len());
    for (depth, minima) in rows {
        write!(text, "\n| {depth} |").expect("a string takes all");
        for minimum in minima {
            write!(text, " {minimum:.0} ns ({:.1}x) |", minimum / minima[0]).expect("a string takes all");
        }
    }
    text
}

/// Puts the table between the two marks of `docs/benchmarks.md`; what stands around them is written by hand.
fn write(table: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let text = std::fs::read_to_string(&path).context("cannot read docs/benchmarks.md")?;
    let (before, rest) = text.split_once(BEGIN).context("docs/benchmarks.md has lost its first mark")?;
    let (_, after) = rest.split_once(END).context("docs/benchmarks.md has lost its second mark")?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let commit = commit()?;
    let facts = format!(
        "`cargo xtask bench --write` at {commit}, {cores} cores, {ROUNDS} runs each of {PAIRS} pairs:"
    );
    let text = format!("{before}{BEGIN}{facts}\n\n{table}\n{END}{after}");
    std::fs::write(&path, text).context("cannot write docs/benchmarks.md")
}
