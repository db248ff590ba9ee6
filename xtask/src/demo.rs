//! `cargo xtask demo`: the main job, on a program that grows. The program needs TensorFlow, which goes into an environment of its own;
//! where that cannot be had, a native example is shown.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::environment;
use crate::packages::{self, FOR_DEMO};
use crate::workspace::{compile, heaplens, root, succeed};

/// Builds everything, runs an example, says what is to be seen.
pub fn run() -> Result<()> {
    packages::provide(FOR_DEMO);
    let heaplens = heaplens()?;
    match environment::tensorflow() {
        Ok(python) => training(&heaplens, &python),
        Err(why) => {
            println!("TensorFlow cannot be had ({why:#}): here is a program without it.\n");
            server(&heaplens)
        }
    }
}

fn training(heaplens: &Path, python: &Path) -> Result<()> {
    println!("$ heaplens run -o constants.hlr -- python examples/constants.py\n");
    let mut command = Command::new(heaplens);
    command.args(["run", "-o"]).arg(crate::workspace::target().join("constants.hlr")).arg("--").arg(python);
    command.arg("examples/constants.py").env("TF_CPP_MIN_LOG_LEVEL", "3").current_dir(root());
    succeed(&mut command)?;
    println!(
        "\nEvery iteration closes its session, yet memory grows by 8 MB per iteration: the default graph keeps it."
    );
    println!("The first finding is the line that makes the constants, what holds them, and what to do.");
    Ok(())
}

fn server(heaplens: &Path) -> Result<()> {
    let example = compile("examples/sessions.cpp", "demo")?;
    let folder = example.parent().context("the example lies in a folder")?;
    println!("$ heaplens run -o sessions.hlr -- ./sessions\n");
    succeed(
        Command::new(heaplens).args(["run", "-o", "sessions.hlr", "--", "./sessions"]).current_dir(folder),
    )?;
    println!(
        "\nThe program keeps a session for each request; those of guests are never forgotten, 2,500 of them."
    );
    println!("The first site of the report is the line of examples/sessions.cpp that makes what they hold.");
    Ok(())
}
