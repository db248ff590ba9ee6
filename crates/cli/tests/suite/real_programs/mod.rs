//! Real programs, unharmed: each runs twice in the same fresh folder, alone and under `heaplens run -q`.
//!
//! What it prints, how it ends and every file that it leaves must be the same byte for byte, and the recording must read
//! without damage. Scripts print and keep only what does not depend on time, process ids or addresses, so nothing is scrubbed
//! afterwards. `cargo xtask soak` asks the same tests for more by environment variables.

mod compilers;
mod databases;
mod interpreters;
mod python;
mod shell;
mod tree;
mod trial;

use std::path::PathBuf;
use std::process::Command;

/// A program that a shell would find.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// What a command prints, when it succeeds.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A number that a long run may raise.
fn amount(variable: &str, ordinary: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(ordinary, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}
