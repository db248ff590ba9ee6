//! A Python that has TensorFlow: a private environment below the build folder, or one that the user names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::{succeed, target};

/// The version that the targets speak of.
const TENSORFLOW: &str = "tensorflow-cpu==2.21.0";

/// Takes the named one, or makes the private one where it is not there yet.
pub fn provide(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = named {
        let found = has_tensorflow(python);
        ensure!(found, "{} cannot import tensorflow", python.display());
        return Ok(python.to_owned());
    }
    let folder = target().join("bench-python");
    let python = folder.join("bin/python");
    if !has_tensorflow(&python) {
        make(&folder, &python)?;
    }
    Ok(python)
}

fn make(folder: &Path, python: &Path) -> Result<()> {
    println!("setting up {} with {TENSORFLOW}", folder.display());
    succeed(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .context("cannot make a Python environment\n\nhint: sudo apt-get install python3-venv")?;
    let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", TENSORFLOW];
    succeed(Command::new(python).args(arguments)).context("cannot install TensorFlow")
}

fn has_tensorflow(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import tensorflow"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
