//! `cargo xtask soak`: runs that are too long for every change. Each one's command, commit and result go into docs/soak.md.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::check::{Count, tests};
use crate::workspace::{cargo, commit, root};

/// A test of the ordinary suite, asked for more.
struct Soak {
    name: &'static str,
    test: &'static str,
    variable: &'static str,
    value: &'static str,
}

const SOAKS: &[Soak] = &[
    Soak { name: "kill", test: "kill::", variable: "HEAPLENS_KILL_RUNS", value: "100" },
    Soak {
        name: "pairs",
        test: "bounded::a_hundred_million",
        variable: "HEAPLENS_PAIRS",
        value: "1000000000",
    },
];

/// Runs the named ones, or all.
pub fn run(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| SOAKS.iter().all(|soak| soak.name != **name)) {
        let known: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        bail!("no long run `{unknown}`; there are: {}", known.join(", "));
    }
    for soak in SOAKS.iter().filter(|soak| names.is_empty() || names.contains(&soak.name)) {
        run_one(soak)?;
    }
    Ok(())
}

fn run_one(soak: &Soak) -> Result<()> {
    let words =
        ["test", "--release", "--package", "heaplens", "--test", "suite", "--", "--nocapture", soak.test];
    let start = Instant::now();
    let count = tests(soak.name, cargo(&words).env(soak.variable, soak.value))?;
    let line = format!("{}={} cargo {}", soak.variable, soak.value, words.join(" "));
    keep(soak.name, &line, count, start.elapsed().as_secs())?;
    ensure!(count.failed == 0 && count.passed > 0, "the long run `{}` failed", soak.name);
    Ok(())
}

fn keep(name: &str, command: &str, count: Count, seconds: u64) -> Result<()> {
    let path = root().join("docs/soak.md");
    let mut file = OpenOptions::new().append(true).open(path).context("cannot open docs/soak.md")?;
    let Count { passed, failed, skipped } = count;
    let commit = commit()?;
    writeln!(file, "\n## {name}, {commit}\n\n```\n{command}\n{passed} passed, {failed} failed, {skipped} skipped in {seconds} s\n```")
        .context("cannot write docs/soak.md")
}
