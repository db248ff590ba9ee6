//! The fuzzers, one after another: every target starts from its committed corpus and keeps what it finds beside the build.
//! A crash (or a target that does not build) is a failure; the input stays in the `artifacts` of the crate.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::check::Count;
use crate::workspace::{root, succeed, target};

/// The variable that says how long all targets together may take, and what it is when nobody says.
pub const VARIABLE: &str = "HEAPLENS_FUZZ_SECONDS";
const SECONDS: u64 = 7200;

/// An input that takes longer is a hang.
const TIMEOUT: &str = "-timeout=10";

/// The targets, each with its crate.
const TARGETS: [(&str, &str); 6] = [
    ("format", "decode"),
    ("format", "payloads"),
    ("record", "arena"),
    ("tracker", "cfi"),
    ("tracker", "memo"),
    ("tracker", "walk"),
];

/// How many seconds all targets get.
pub fn seconds() -> Result<u64> {
    match std::env::var(VARIABLE) {
        Ok(number) => number.parse().with_context(|| format!("{VARIABLE}={number} is not a number")),
        Err(_) => Ok(SECONDS),
    }
}

/// Runs all targets; a line on each, and how many ended well.
pub fn run(seconds: u64) -> Result<(Vec<String>, Count)> {
    provide()?;
    let (mut lines, mut count) = (Vec::new(), Count::default());
    for (package, name) in TARGETS {
        println!("== fuzz {name}");
        let start = Instant::now();
        let mut child = start_target(package, name, seconds / TARGETS.len() as u64)?;
        let said = Said::of(BufReader::new(child.stderr.take().context("stderr is a pipe")?));
        let ended_well = child.wait().context("the fuzzer ends")?.success();
        lines.push(said.line(name, start.elapsed().as_secs(), ended_well));
        count = count.and(Count::one(ended_well));
    }
    Ok((lines, count))
}

/// Fuzzing needs a nightly compiler and Cargo's subcommand for it.
fn provide() -> Result<()> {
    let works = |command: &mut Command| {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    };
    if !works(&mut nightly(&["--version"])) {
        succeed(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    if !works(&mut nightly(&["fuzz", "--version"])) {
        succeed(&mut nightly(&["install", "cargo-fuzz", "--locked"]))?;
    }
    Ok(())
}

fn nightly(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments);
    command
}

fn start_target(package: &str, name: &str, seconds: u64) -> Result<Child> {
    let folder = root().join("crates").join(package);
    let found = target().join("fuzz-corpus").join(name);
    std::fs::create_dir_all(&found).with_context(|| format!("cannot make {}", found.display()))?;
    let seeds: PathBuf = ["fuzz", "corpus", name].iter().collect();
    let mut command = nightly(&["fuzz", "run", "--target-dir"]);
    // libFuzzer adds to the first corpus that it is given, and only reads the others.
    command.arg(target().join("fuzz")).arg(name).args([found, seeds]);
    command.args(["--", &format!("-max_total_time={seconds}"), TIMEOUT, "-print_final_stats=1"]);
    command.current_dir(folder).stderr(Stdio::piped()).spawn().context("cannot start rustup")
}

/// What a fuzzer said of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    executions: u64,
    edges: u64,
}

impl Said {
    /// Reads to the end, and shows all lines but those that only tell that something was found.
    fn of(lines: impl BufRead) -> Self {
        let mut said = Self::default();
        for line in lines.split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            said.take(&line);
            if !line.starts_with('#') {
                println!("{line}");
            }
        }
        said
    }

    fn take(&mut self, line: &str) {
        if let Some(edges) = number_after(line, " cov: ") {
            self.edges = edges;
        }
        if let Some(executions) = number_after(line, "stat::number_of_executed_units: ") {
            self.executions = executions;
        }
    }

    fn line(&self, name: &str, seconds: u64, ended_well: bool) -> String {
        let Self { executions, edges } = self;
        let end = match (ended_well, executions) {
            (true, _) => "no crash",
            (false, 0) => "DID NOT RUN",
            (false, _) => "CRASHED",
        };
        format!("{name}: {executions} executions in {seconds} s, {edges} edges covered, {end}")
    }
}

fn number_after(line: &str, word: &str) -> Option<u64> {
    let (_, rest) = line.split_once(word)?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_coverage_and_the_executions_are_read() {
        let lines = "#2\tINITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 36Mb\n\
                     #900\tNEW    cov: 340 ft: 800 corp: 40/1b lim: 4 exec/s: 0 rss: 40Mb\n\
                     stat::number_of_executed_units: 51720\n";
        let said = Said::of(lines.as_bytes());
        assert_eq!(said, Said { executions: 51720, edges: 340 });
        assert_eq!(said.line("cfi", 60, true), "cfi: 51720 executions in 60 s, 340 edges covered, no crash");
    }

    #[test]
    fn every_target_has_a_corpus_and_every_corpus_a_target() {
        let mut found: Vec<String> = Vec::new();
        for package in ["format", "record", "tracker"] {
            let corpora = root().join("crates").join(package).join("fuzz/corpus");
            for entry in std::fs::read_dir(corpora).unwrap() {
                found.push(entry.unwrap().file_name().into_string().unwrap());
            }
        }
        found.sort_unstable();
        let mut named = TARGETS.map(|(_, name)| name);
        named.sort_unstable();
        assert_eq!(found, named);
    }
}
