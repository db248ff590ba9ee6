//! What a leak check costs: `bench/leaks.cpp` with a million and ten million blocks that can all be reached, checked by the leak
//! sanitizer from the inside, by Memcheck and by Heaplens; and what the check adds to the end of a small TensorFlow program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use super::super::options::BenchOptions;
use super::super::python;
use super::super::text::{line, rule};
use super::said::said;
use crate::workspace::{compile, heaplens, printed, root, succeed, target};

const BLOCKS: [u64; 2] = [1_000_000, 10_000_000];
/// CPU time of a check, of the leak sanitizer's.
const MOST_TIME: f64 = 0.35;
/// Memory of the analysis for each block.
const MOST_BYTES: f64 = 80.0;
/// What a check may add to the end of a TensorFlow program.
const MOST_SECONDS: f64 = 1.5;
/// Memcheck is killed after this many seconds.
const TIMEOUT_S: &str = "180";
const TENSORFLOW: &str = "import time
import tensorflow as tf
tf.reduce_sum(tf.ones([1000]))
print(f'leaks ended_ns={time.time_ns()}', flush=True)";

/// One check of the leak sanitizer's.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Check {
    wall_s: f64,
    cpu_s: f64,
}

impl Check {
    fn least(self, other: Self) -> Self {
        Self { wall_s: self.wall_s.min(other.wall_s), cpu_s: self.cpu_s.min(other.cpu_s) }
    }
}

/// One check of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LeakCheck {
    wall_s: f64,
    cpu_s: f64,
    bytes_per_block: f64,
}

/// Runs each tool so often in turn; of each number the least counts.
pub fn measure(options: &BenchOptions) -> Result<String> {
    let heaplens = heaplens()?;
    let (program, sanitized) = (compile("bench/leaks.cpp", "bench")?, compile_sanitized()?);
    let head = [
        "blocks",
        "LSan, CPU (wall)",
        "Heaplens, CPU (wall)",
        "of LSan's CPU",
        "",
        "memory for a block",
        "",
        "Memcheck, wall",
    ];
    let mut text = line(head) + &rule(head.len());
    for blocks in BLOCKS {
        let (mut peer, mut ours) = (Check { cpu_s: f64::MAX, wall_s: f64::MAX }, None::<LeakCheck>);
        for round in 0..options.runs {
            eprintln!("{blocks} blocks: run {} of {}", round + 1, options.runs);
            peer = peer.least(checked_by_sanitizer(&sanitized, blocks)?);
            let check = checked_by_us(&heaplens, &program, blocks)?;
            ours = Some(ours.map_or(check, |best| best.least(check)));
        }
        let memcheck =
            if blocks == BLOCKS[0] { checked_by_memcheck(&program, blocks)? } else { "–".to_owned() };
        text += &row(blocks, peer, ours.context("there is a run")?, &memcheck);
    }
    let python = python::provide(options.python.as_deref(), &["tensorflow"])?;
    let added: Result<Vec<f64>> =
        (0..options.runs).map(|_| added_to_tensorflow(&heaplens, &python)).collect();
    let added = added?.into_iter().fold(f64::MAX, f64::min);
    Ok(text + "\n" + &sentence(added))
}

fn compile_sanitized() -> Result<PathBuf> {
    let output = target().join("bench/leaks_sanitized");
    let mut compiler = Command::new("c++");
    compiler.args(["-O2", "-g", "-fsanitize=leak", "-o"]).arg(&output).arg(root().join("bench/leaks.cpp"));
    succeed(&mut compiler)?;
    Ok(output)
}

fn checked_by_sanitizer(program: &Path, blocks: u64) -> Result<Check> {
    let said = said(&printed(Command::new(program).arg(blocks.to_string()))?, "leaks")?;
    let seconds = |word: &str| {
        let nanoseconds = said.get(word).with_context(|| format!("no {word} among {said:?}"))?;
        Ok::<f64, anyhow::Error>(nanoseconds / 1e9)
    };
    Ok(Check { wall_s: seconds("check_ns")?, cpu_s: seconds("cpu_ns")? })
}

fn checked_by_us(heaplens: &Path, program: &Path, blocks: u64) -> Result<LeakCheck> {
    let mut command = Command::new(heaplens);
    command.args(["memcheck", "--verbose"]).arg(program).arg(blocks.to_string());
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{command:?}: {words}");
    LeakCheck::parse(&words).with_context(|| format!("{command:?} said nothing of its check:\n{words}"))
}

impl LeakCheck {
    /// `heaplens: inspected 1000001 blocks in 0.869 s, 0.575 s of CPU time, 61.2 bytes per block`.
    fn parse(words: &str) -> Option<Self> {
        let line = words.lines().find_map(|line| line.strip_prefix("heaplens: inspected "))?;
        let numbers: Vec<f64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let [_, wall_s, cpu_s, bytes_per_block] = numbers[..] else { return None };
        Some(Self { wall_s, cpu_s, bytes_per_block })
    }

    fn least(self, other: Self) -> Self {
        Self {
            wall_s: self.wall_s.min(other.wall_s),
            cpu_s: self.cpu_s.min(other.cpu_s),
            bytes_per_block: self.bytes_per_block.min(other.bytes_per_block),
        }
    }
}

/// Wall time from the program's last words to the end of the command: the check and the page.
fn checked_by_memcheck(program: &Path, blocks: u64) -> Result<String> {
    if !Path::new("/usr/bin/valgrind").exists() {
        return Ok("not run: no valgrind".to_owned());
    }
    let mut command = Command::new("timeout");
    command
        .args([TIMEOUT_S, "valgrind", "--quiet", "--leak-check=full"])
        .arg(program)
        .arg(blocks.to_string());
    let output = command.output().context("cannot start timeout")?;
    if !output.status.success() {
        return Ok(format!("more than {TIMEOUT_S} s with the program"));
    }
    Ok(format!("{:.1} s", since(&String::from_utf8_lossy(&output.stdout))?))
}

/// Seconds since the program said its last words.
fn since(output: &str) -> Result<f64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as f64;
    let said = said(output, "leaks")?;
    Ok((now - said.get("ended_ns").with_context(|| format!("no end among {said:?}"))?) / 1e9)
}

/// What a check adds to the end of a TensorFlow program, on the clock.
fn added_to_tensorflow(heaplens: &Path, python: &Path) -> Result<f64> {
    let end = |check: &str| {
        let mut command = Command::new(heaplens);
        command
            .args(["memcheck", check])
            .arg(python)
            .args(["-c", TENSORFLOW])
            .env("TF_CPP_MIN_LOG_LEVEL", "3");
        since(&printed(&mut command)?)
    };
    Ok(end("--leak-check=full")? - end("--leak-check=no")?)
}

fn judged(found: f64, at_most: f64) -> &'static str {
    if found <= at_most { "met" } else { "**missed**" }
}

fn row(blocks: u64, peer: Check, ours: LeakCheck, memcheck: &str) -> String {
    let share = ours.cpu_s / peer.cpu_s;
    line([
        &format!("{} million", blocks / 1_000_000),
        &format!("{:.2} s ({:.2} s)", peer.cpu_s, peer.wall_s),
        &format!("{:.2} s ({:.2} s)", ours.cpu_s, ours.wall_s),
        &format!("{share:.2}"),
        &format!("{MOST_TIME}: {}", judged(share, MOST_TIME)),
        &format!("{:.0} B", ours.bytes_per_block),
        &format!("{MOST_BYTES} B: {}", judged(ours.bytes_per_block, MOST_BYTES)),
        memcheck,
    ])
}

fn sentence(added: f64) -> String {
    let word = judged(added, MOST_SECONDS);
    format!(
        "The end of a program that imports TensorFlow and runs one operation takes {added:.2} s longer with a check \
         ({MOST_SECONDS} s: {word}).\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str =
        "noise\nheaplens: inspected 1000001 blocks in 0.869 s, 0.575 s of CPU time, 61.2 bytes per block\n";

    #[test]
    fn a_look_tells_what_it_cost() {
        let check = LeakCheck::parse(WORDS).unwrap();
        assert_eq!(check, LeakCheck { wall_s: 0.869, cpu_s: 0.575, bytes_per_block: 61.2 });
        assert_eq!(LeakCheck::parse("nothing\n"), None);
    }

    #[test]
    fn a_share_above_the_target_is_missed() {
        let check = LeakCheck { wall_s: 0.3, cpu_s: 0.2, bytes_per_block: 61.2 };
        let peer = |cpu_s| Check { wall_s: 1.1, cpu_s };
        let text = row(1_000_000, peer(1.0), check, "9.1 s");
        let times = "1.00 s (1.10 s) | 0.20 s (0.30 s) | 0.20 | 0.35: met";
        assert_eq!(text, format!("| 1 million | {times} | 61 B | 80 B: met | 9.1 s |\n"));
        assert!(row(1_000_000, peer(0.5), check, "").contains("**missed**"));
        assert!(sentence(1.6).contains("**missed**"));
    }
}
