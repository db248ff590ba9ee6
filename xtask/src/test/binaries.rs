//! The test binaries: built once, found by what cargo says of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::options::{Scope, TestOptions};
use crate::workspace::{cargo, printed};

/// All crates but two. The agent is a cdylib with a panic handler of its own: it is always looked at alone. The check of
/// interleavings has the tables built with points of its own: beside it, the others would be tested with them, too.
pub const OTHERS: [&str; 5] =
    ["--workspace", "--exclude", "heaplens-agent", "--exclude", "heaplens-interleavings"];
/// And that one.
pub const INTERLEAVINGS: [&str; 2] = ["--package", "heaplens-interleavings"];

/// What knows the framework of the tests is another build, which nobody else gets.
const TOY: [&str; 6] = ["--package", "heaplens", "--features", "toy", "--test", "toy"];

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// The package, without the project's name, and the file of tests where the package has several.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The package's folder: what tests expect to run in.
    pub folder: PathBuf,
}

/// A test of a binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its path of modules.
    pub name: String,
    /// Whether it is marked as one that only `--all` runs.
    pub is_long: bool,
}

/// Builds all of them.
pub fn build(options: &TestOptions) -> Result<Vec<Binary>> {
    let mut binaries = build_of(&OTHERS)?;
    if options.scope != Scope::Fast {
        binaries.extend(build_of(&INTERLEAVINGS)?);
    }
    if options.scope == Scope::All {
        binaries.extend(build_of(&TOY)?);
    }
    Ok(binaries)
}

fn build_of(which: &[&str]) -> Result<Vec<Binary>> {
    println!("== build {}", which.join(" "));
    let mut command = cargo(&["test", "--no-run", "--message-format", "json-render-diagnostics"]);
    let output = without_increments(command.args(which)).stderr(Stdio::inherit()).output();
    let output = output.context("cannot start cargo")?;
    ensure!(output.status.success(), "the tests do not build");
    let messages = String::from_utf8_lossy(&output.stdout);
    Ok(messages.lines().filter_map(|line| binary(&serde_json::from_str(line).ok()?)).collect())
}

/// In CI nothing is built a second time.
pub fn without_increments(command: &mut Command) -> &mut Command {
    if std::env::var_os("CI").is_some() { command.env("CARGO_INCREMENTAL", "0") } else { command }
}

/// The test binary that a message of cargo's is about.
fn binary(message: &Value) -> Option<Binary> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let is_integration = message["target"]["kind"][0] == "test";
    let file = message["target"]["name"].as_str()?;
    let name = if is_integration { format!("{package}/{file}") } else { package };
    Some(Binary { name, path, folder })
}

impl Binary {
    /// A run of it, where and as cargo would run it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        command
    }

    /// Its tests.
    pub fn tests(&self) -> Result<Vec<Test>> {
        let listed = |words: &[&str]| -> Result<Vec<String>> {
            let text = printed(self.command().args(["--list", "--format", "terse"]).args(words))?;
            Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
        };
        let long = listed(&["--ignored"])?;
        let tests = listed(&[])?.into_iter();
        Ok(tests.map(|name| Test { is_long: long.contains(&name), name }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn binaries_are_known_by_their_folder_and_by_their_file_where_that_is_one_of_several() {
        let message = |kind: &str, name: &str, test: bool| {
            json!({
                "reason": "compiler-artifact",
                "manifest_path": "/house/crates/cli/Cargo.toml",
                "target": { "kind": [kind], "name": name },
                "profile": { "test": test },
                "executable": "/house/target/debug/deps/x",
            })
        };
        let name = |message: Value| binary(&message).map(|binary| binary.name);
        assert_eq!(name(message("bin", "heaplens", true)), Some("cli".into()));
        assert_eq!(name(message("test", "suite", true)), Some("cli/suite".into()));
        assert_eq!(name(message("bin", "heaplens", false)), None);
    }
}
