//! The test binaries: built once, found by what cargo says of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::options::{Scope, TestOptions};
use crate::workspace::{INTERLEAVINGS, OTHERS, cargo, printed, without_increments};

/// The command and the tests that run it, built as the command is. All crates are named for it, too: with others, Cargo would take
/// other features of the same dependencies, and build them a second time.
const COMMAND: [&str; 8] =
    ["--profile", "dev", "--bin", "heaplens", "--test", "suite", "--test", "snapshots_of_running_programs"];
/// The tests of the other crates by themselves.
const CRATES: [&str; 2] = ["--exclude", "heaplens"];
/// What knows the framework of the tests is another build, which nobody else gets.
const TOY: [&str; 8] = ["--profile", "dev", "--package", "heaplens", "--features", "toy", "--test", "toy"];

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
    let mut builds = vec![[&OTHERS[..], &COMMAND].concat(), [&OTHERS[..], &CRATES].concat()];
    builds.extend((options.scope != Scope::Fast).then(|| INTERLEAVINGS.to_vec()));
    builds.extend((options.scope == Scope::All).then(|| TOY.to_vec()));
    let mut binaries = Vec::<Binary>::new();
    for which in builds {
        let built = build_of(&which)?;
        // Two builds have a binary in common where two crates have tests of one name.
        let is_new = |binary: &Binary| binaries.iter().all(|known| known.name != binary.name);
        let new: Vec<Binary> = built.into_iter().filter(is_new).collect();
        binaries.extend(new);
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
    use crate::workspace::root;
    use serde_json::json;

    #[test]
    fn every_test_of_the_command_is_built() {
        let folder = root().join("crates/cli/tests");
        let named = |name: &str| COMMAND.contains(&name) || TOY.contains(&name);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(!is_test || named(&name), "{name} is in no build");
        }
    }

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
