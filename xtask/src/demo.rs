//! `cargo xtask demo`: the main job, on an example that keeps memory.

use std::process::Command;

use anyhow::Result;

use crate::packages::{self, FOR_DEMO};
use crate::workspace::{compile, heaplens, succeed, target};

/// Builds everything, runs the example, says what is to be seen.
pub fn run() -> Result<()> {
    packages::provide(FOR_DEMO);
    let heaplens = heaplens()?;
    let example = compile("examples/sessions.cpp", "demo")?;
    let recording = target().join("demo/sessions.hlr");
    println!("$ heaplens run -o {} -- {}\n", recording.display(), example.display());
    succeed(Command::new(&heaplens).args(["run", "-o"]).arg(&recording).arg("--").arg(&example))?;
    println!(
        "\nThe program answers requests and keeps a session for each; `expire` forgets every second one."
    );
    println!(
        "The top line of the report is the line of examples/sessions.cpp that makes what is never given back."
    );
    Ok(())
}
