//! `cargo xtask demo`: the main job, on an example that keeps memory.

use std::process::Command;

use anyhow::{Context, Result};

use crate::packages::{self, FOR_DEMO};
use crate::workspace::{compile, heaplens, succeed};

/// Builds everything, runs the example, says what is to be seen.
pub fn run() -> Result<()> {
    packages::provide(FOR_DEMO);
    let heaplens = heaplens()?;
    let example = compile("examples/sessions.cpp", "demo")?;
    let folder = example.parent().context("the example lies in a folder")?;
    println!("$ heaplens run -o sessions.hlr -- ./sessions\n");
    succeed(
        Command::new(&heaplens).args(["run", "-o", "sessions.hlr", "--", "./sessions"]).current_dir(folder),
    )?;
    println!(
        "\nThe program keeps a session for each request; those of guests are never forgotten, 2,500 of them."
    );
    println!("The first site of the report is the line of examples/sessions.cpp that makes what they hold.");
    Ok(())
}
