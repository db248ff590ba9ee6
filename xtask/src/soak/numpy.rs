//! NumPy's own core tests, in an environment below the build folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::suites::{self, Suite, judge};
use crate::check::Count;
use crate::workspace::{heaplens, succeed, target};

const PACKAGES: [&str; 3] = ["numpy==2.1.3", "pytest==8.3.4", "hypothesis==6.122.3"];
const TESTS: &str = "numpy._core";
const MOST_SECONDS: u64 = 1800;

/// Runs them; a line on all and one on each that differed.
pub fn run() -> Result<(Vec<String>, Count)> {
    let heaplens = heaplens()?;
    let suite = Suite {
        name: format!("{TESTS} of {}", PACKAGES[0]),
        python: provide()?,
        runner: "pytest",
        words: ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--pyargs", TESTS]
            .map(str::to_owned)
            .into(),
        most_seconds: MOST_SECONDS,
    };
    let verdict = judge(&heaplens, &suite, &[], &suites::folder("numpy"))?;
    Ok((verdict.lines, verdict.count))
}

/// The environment's interpreter; it is made where it is not there yet.
fn provide() -> Result<PathBuf> {
    let folder = target().join("soak-python");
    let python = folder.join("bin/python");
    if !has_packages(&python) {
        println!("setting up {} with {}", folder.display(), PACKAGES.join(", "));
        let base =
            suites::interpreters().into_iter().find(|python| works(python)).context("no Python here")?;
        succeed(Command::new(base).args(["-m", "venv"]).arg(&folder))
            .context("cannot make a Python environment\n\nhint: sudo apt-get install python3-venv")?;
        let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        succeed(Command::new(&python).args(words).args(PACKAGES)).context("cannot install NumPy")?;
    }
    Ok(python)
}

fn works(python: &Path) -> bool {
    Command::new(python).args(["-c", "import venv"]).status().is_ok_and(|status| status.success())
}

fn has_packages(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import numpy, pytest, hypothesis"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
