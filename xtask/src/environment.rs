//! Environments of Python and Node below the build folder: made where they are not there yet, with distributions of fixed versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace::{succeed, target};

/// A module and the distribution that it comes in.
pub type Wanted = (&'static str, &'static str);

/// The version that the tests and the targets of the benchmarks speak of; NumPy comes with it.
const TENSORFLOW: Wanted = ("tensorflow", "tensorflow-cpu==2.21.0");

/// The interpreter of an environment with TensorFlow.
pub fn tensorflow() -> Result<PathBuf> {
    provide("tensorflow-python", &[TENSORFLOW])
}

/// The interpreter of the environment in this folder, with these modules.
pub fn provide(folder: &str, wanted: &[Wanted]) -> Result<PathBuf> {
    let folder = target().join(folder);
    let python = folder.join("bin/python");
    for (module, distribution) in wanted {
        if imports(&python, module) {
            continue;
        }
        println!("setting up {} with {distribution}", folder.display());
        if !python.exists() {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))
                .context("cannot make a Python environment\n\nhint: sudo apt-get install python3-venv")?;
        }
        install(&python, distribution)?;
    }
    Ok(python)
}

/// Readers of formats that are scripts of Node: what the tests ask for speedscope's importer, for the schema of SARIF, and, of the
/// HTML page, for a browser that is told what to do and for rules of accessibility.
const FOR_NODE: [(&str, &str); 4] = [
    ("speedscope", "1.20.0"),
    ("@microsoft/jest-sarif", "1.0.0-beta.0"),
    ("puppeteer-core", "24.43.1"),
    ("axe-core", "4.14.0"),
];

/// The folder that has them, below `node_modules`.
pub fn node_readers() -> Result<PathBuf> {
    let folder = target().join("node-readers");
    let is_there = |name: &str| folder.join("node_modules").join(name).join("package.json").exists();
    if !FOR_NODE.iter().all(|(name, _)| is_there(name)) {
        println!("setting up {}", folder.display());
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let wanted = FOR_NODE.iter().map(|(name, version)| format!("{name}@{version}"));
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder);
        succeed(npm.args(wanted))
            .context("cannot install readers from npm\n\nhint: sudo apt-get install npm")?;
    }
    Ok(folder)
}

/// Adds a distribution to an environment.
pub fn install(python: &Path, distribution: &str) -> Result<()> {
    let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", distribution];
    succeed(Command::new(python).args(arguments)).with_context(|| format!("cannot install {distribution}"))
}

/// Whether an interpreter is there and has a module.
pub fn imports(python: &Path, module: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {module}")]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
