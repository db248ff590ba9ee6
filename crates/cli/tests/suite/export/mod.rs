//! `heaplens export`: every format is read back by the tool that it is meant for, and the bytes are ours to the last one.

mod findings;
pub mod readers;
mod stacks;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Output;
use std::sync::LazyLock;

use crate::harness::{Finished, Heaplens, program};
use crate::python::{interpreters, script};

/// A native program that says what its three functions hold.
static NATIVE: LazyLock<Finished> =
    LazyLock::new(|| Heaplens::on(&program("sampled.c"), &["-q"]).finish().expect_status(0));
/// Scripts that hold a block of `SIZE` more with each iteration.
static FEW: LazyLock<Finished> = LazyLock::new(|| growing("40"));
static MANY: LazyLock<Finished> = LazyLock::new(|| growing("100"));

/// What an iteration of the script keeps.
const SIZE: i64 = 12345;

fn growing(iterations: &str) -> Finished {
    let run = Heaplens::on(interpreters::any(), &["-q"]).arg(script("python_grows.py")).arg(iterations);
    run.finish().expect_status(0)
}

/// The line that it keeps it at, as outputs spell it.
fn growing_line(run: &Finished) -> String {
    let stdout = run.stdout();
    let said = stdout.lines().find_map(|line| line.strip_prefix("grows ")).expect("it says so");
    format!("python_grows.py:{}", said.split(' ').nth(1).expect("a line"))
}

fn export(run: &Finished, format: &str, words: &[&dyn AsRef<OsStr>]) -> Output {
    let mut command = Heaplens::bare(["export", "--format", format]);
    words
        .iter()
        .fold(command.arg(run.recording()), |command, word| command.arg(word))
        .output()
        .expect("heaplens starts")
}

/// The export as a file, under a name of its own.
fn exported(run: &Finished, format: &str, name: &str, words: &[&dyn AsRef<OsStr>]) -> PathBuf {
    let file = run.folder.file(name);
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"-o", &file];
    all.extend(words);
    let output = export(run, format, &all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "it went to the file");
    file
}

/// A sum of the report: of the heap and of small objects, which is what other tools are given.
fn sum(run: &Finished, field: &str) -> i64 {
    let report = run.report();
    let of = |part: &str| report.0[part][field].as_i64();
    of("totals").expect("the heap has a sum") + of("python_objects").unwrap_or(0)
}

/// Blocks and bytes in use and allocated.
fn totals(run: &Finished) -> [i64; 4] {
    ["live_blocks", "live_bytes", "allocated_blocks", "allocated_bytes"].map(|field| sum(run, field))
}

fn refused(run: &Finished, format: &str, words: &[&dyn AsRef<OsStr>]) -> String {
    let output = export(run, format, words);
    assert_eq!(output.status.code(), Some(125), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}
