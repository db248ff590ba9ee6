//! `cargo xtask test`: everything that a change has to pass, and one last line with the count.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::check::{Count, tests, whole};
use crate::environment;
use crate::packages::{self, FOR_TESTS};
use crate::workspace::cargo;

/// Sets up, checks, tests. The last line is `N passed, M failed, K skipped`.
pub fn run() -> Result<ExitCode> {
    packages::provide(FOR_TESTS);
    packages::provide_components();
    let count = checks().and(crate_tests()?);
    println!("{} passed, {} failed, {} skipped", count.passed, count.failed, count.skipped);
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All crates but two. The agent is a cdylib with a panic handler of its own: it is always looked at alone. The check of
/// interleavings has the tables built with points of its own: beside it, the others would be tested with them, too.
const OTHERS: [&str; 5] =
    ["--workspace", "--exclude", "heaplens-agent", "--exclude", "heaplens-interleavings"];
const INTERLEAVINGS: [&str; 2] = ["--package", "heaplens-interleavings"];

fn checks() -> Count {
    let agent = ["--package", "heaplens-agent", "--profile", "agent"];
    let formatted = whole("format", &mut cargo(&["fmt", "--all", "--", "--check"]));
    let linted = whole(
        "clippy",
        cargo(&["clippy", "--quiet"]).args(OTHERS).args(["--all-targets", "--", "-D", "warnings"]),
    );
    let interleavings_linted = whole(
        "clippy, interleavings",
        cargo(&["clippy", "--quiet"]).args(INTERLEAVINGS).args(["--all-targets", "--", "-D", "warnings"]),
    );
    let agent_linted =
        whole("clippy, agent", cargo(&["clippy", "--quiet"]).args(agent).args(["--", "-D", "warnings"]));
    let documented = whole("rustdoc", documentation(&OTHERS).env("RUSTDOCFLAGS", "-D warnings"));
    let agent_documented = whole("rustdoc, agent", documentation(&agent).env("RUSTDOCFLAGS", "-D warnings"));
    let edges = check_edges();
    [linted, interleavings_linted, agent_linted, documented, agent_documented, edges]
        .into_iter()
        .fold(formatted, Count::and)
}

fn documentation(which: &[&str]) -> Command {
    let mut command = cargo(&["doc", "--quiet", "--no-deps", "--document-private-items"]);
    command.args(which);
    command
}

fn check_edges() -> Count {
    println!("== check-edges");
    let result = crate::edges::run();
    if let Err(error) = &result {
        println!("FAILED: check-edges: {error:#}");
    }
    Count::one(result.is_ok())
}

fn crate_tests() -> Result<Count> {
    let mut command = cargo(&["test", "--no-fail-fast"]);
    match environment::tensorflow() {
        Ok(python) => command.env("HEAPLENS_TENSORFLOW_PYTHON", python),
        Err(error) => {
            println!("{error:#}: tests that need TensorFlow are skipped");
            command.env_remove("HEAPLENS_TENSORFLOW_PYTHON")
        }
    };
    match environment::node_readers() {
        Ok(folder) => command.env("HEAPLENS_NODE_READERS", folder),
        Err(error) => {
            println!("{error:#}: tests that need these readers are skipped");
            command.env_remove("HEAPLENS_NODE_READERS")
        }
    };
    let others = tests("tests", command.args(OTHERS))?;
    Ok(others.and(tests("tests, interleavings", cargo(&["test"]).args(INTERLEAVINGS))?))
}
