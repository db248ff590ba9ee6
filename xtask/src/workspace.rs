//! Where things are, and running commands there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// All crates but two. The agent is a cdylib with a panic handler of its own: it is always looked at alone. The check of
/// interleavings has the tables built with points of its own: beside it, the others would be tested with them, too.
pub const OTHERS: [&str; 5] =
    ["--workspace", "--exclude", "heaplens-agent", "--exclude", "heaplens-interleavings"];
/// And that one.
pub const INTERLEAVINGS: [&str; 2] = ["--package", "heaplens-interleavings"];

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies below the root")
}

/// Where Cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// `cargo` with these arguments, in the root.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root());
    command
}

/// In CI nothing is built a second time.
pub fn without_increments(command: &mut Command) -> &mut Command {
    if std::env::var_os("CI").is_some() { command.env("CARGO_INCREMENTAL", "0") } else { command }
}

/// Runs a command whose failure ends the task.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// What a command prints; its failure ends the task.
pub fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command `heaplens`, built for release.
pub fn heaplens() -> Result<PathBuf> {
    succeed(&mut cargo(&["build", "--release", "--package", "heaplens"]))?;
    Ok(target().join("release/heaplens"))
}

/// Compiles a C++ source of the repository into a folder below the build's.
pub fn compile(source: &str, folder: &str) -> Result<PathBuf> {
    let folder = target().join(folder);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let source = root().join(source);
    let output = folder.join(source.file_stem().context("a source has a name")?);
    succeed(Command::new("c++").args(["-O2", "-g", "-o"]).arg(&output).arg(&source))?;
    Ok(output)
}

/// The commit that is checked out, with a word when the tree has changes.
pub fn commit() -> Result<String> {
    let mut git = Command::new("git");
    let described =
        printed(git.args(["describe", "--always", "--dirty", "--abbrev=12"]).current_dir(root()))?;
    Ok(described.trim().to_owned())
}
