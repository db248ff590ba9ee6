//! Checks of the code that run nothing of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::binaries::{INTERLEAVINGS, OTHERS, without_increments};
use super::options::{Scope, TestOptions};
use super::phases::Phases;
use crate::check::{Count, whole};
use crate::workspace::{cargo, root};

/// The agent is built with a profile of its own, as a library with its own panic handler must be.
const AGENT: [&str; 4] = ["--package", "heaplens-agent", "--profile", "agent"];

/// Formatting and lints always, the edges between crates unless the run is a fast one, documentation where all is asked for; nothing where
/// only some tests were asked for.
pub fn run(options: &TestOptions, phases: &mut Phases) -> Count {
    if !options.only.is_empty() {
        return Count::default();
    }
    let formatted = phases.time("format", || {
        let mut others = Command::new("rustfmt");
        others.args(["--edition", "2024", "--check"]).args(listed_by_no_one());
        whole("format", &mut cargo(&["fmt", "--all", "--", "--check"]))
            .and(whole("format, rules and frameworks", &mut others))
    });
    let linted = phases.time("clippy", || clippy("clippy", &OTHERS, &["--all-targets"]));
    let quick = formatted.and(linted);
    if options.scope == Scope::Fast {
        return quick;
    }
    let others = phases.time("clippy, agent and interleavings", || {
        clippy("clippy, interleavings", &INTERLEAVINGS, &["--all-targets"]).and(clippy(
            "clippy, agent",
            &AGENT,
            &[],
        ))
    });
    let edges = phases.time("check-edges", check_edges);
    let checked = quick.and(others).and(edges);
    if options.scope != Scope::All {
        return checked;
    }
    let documented = || rustdoc("rustdoc", &OTHERS).and(rustdoc("rustdoc, agent", &AGENT));
    checked.and(phases.time("rustdoc", documented))
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
