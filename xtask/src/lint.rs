//! `cargo xtask lint`: checks of the code that run nothing of it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::check::{Count, whole};
use crate::workspace::{INTERLEAVINGS, OTHERS, cargo, root, without_increments};

/// The agent is built with a profile of its own, as a library with its own panic handler must be.
const AGENT: [&str; 4] = ["--package", "heaplens-agent", "--profile", "agent"];

/// Formatting, lints, the edges between crates, documentation.
pub fn run() -> ExitCode {
    let mut rules_and_frameworks = Command::new("rustfmt");
    rules_and_frameworks.args(["--edition", "2024", "--check"]).args(listed_by_no_one());
    let checks = [
        whole("format", &mut cargo(&["fmt", "--all", "--", "--check"])),
        whole("format, rules and frameworks", &mut rules_and_frameworks),
        clippy("clippy", &OTHERS, &["--all-targets"]),
        clippy("clippy, interleavings", &INTERLEAVINGS, &["--all-targets"]),
        clippy("clippy, agent", &AGENT, &[]),
        check_edges(),
        rustdoc("rustdoc", &OTHERS),
        rustdoc("rustdoc, agent", &AGENT),
    ];
    let count = checks.into_iter().fold(Count::default(), Count::and);
    println!("{} checks passed, {} failed", count.passed, count.failed);
    if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Files of rules and of frameworks, which no other file names: `cargo fmt` does not find them.
fn listed_by_no_one() -> Vec<PathBuf> {
    ["crates/analyze/src/diagnose/rules", "frameworks"]
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
        .collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.filter_map(|entry| Some(entry.ok()?.path())).partition(|path| path.is_dir());
    let own = files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    own.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

fn clippy(name: &str, which: &[&str], targets: &[&str]) -> Count {
    let mut command = cargo(&["clippy", "--quiet"]);
    whole(name, without_increments(command.args(which).args(targets).args(["--", "-D", "warnings"])))
}

fn rustdoc(name: &str, which: &[&str]) -> Count {
    let mut command = cargo(&["doc", "--quiet", "--no-deps", "--document-private-items"]);
    whole(name, command.args(which).env("RUSTDOCFLAGS", "-D warnings"))
}

fn check_edges() -> Count {
    println!("== check-edges");
    let result = crate::edges::run();
    if let Err(error) = &result {
        println!("FAILED: check-edges: {error:#}");
    }
    Count::one(result.is_ok())
}
