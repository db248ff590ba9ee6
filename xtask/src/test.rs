//! `cargo xtask test`: everything that a change has to pass, and one last line with the count.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::check::{Count, tests, whole};
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

/// The agent is a cdylib with a panic handler of its own: it is always looked at alone.
fn checks() -> Count {
    let agent = ["--package", "heaplens-agent", "--profile", "agent"];
    let others = ["--workspace", "--exclude", "heaplens-agent"];
    let formatted = whole("format", &mut cargo(&["fmt", "--all", "--", "--check"]));
    let linted = whole(
        "clippy",
        cargo(&["clippy", "--quiet"]).args(others).args(["--all-targets", "--", "-D", "warnings"]),
    );
    let agent_linted =
        whole("clippy, agent", cargo(&["clippy", "--quiet"]).args(agent).args(["--", "-D", "warnings"]));
    let documented = whole("rustdoc", documentation(&others).env("RUSTDOCFLAGS", "-D warnings"));
    let agent_documented = whole("rustdoc, agent", documentation(&agent).env("RUSTDOCFLAGS", "-D warnings"));
    let edges = check_edges();
    [linted, agent_linted, documented, agent_documented, edges].into_iter().fold(formatted, Count::and)
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
    tests("tests", &mut cargo(&["test", "--workspace", "--exclude", "heaplens-agent", "--no-fail-fast"]))
}
