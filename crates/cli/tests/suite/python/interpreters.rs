//! Which interpreters this machine has.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{is_run_of_a_change, skip};

/// An interpreter whose frames are read.
#[derive(Debug)]
pub struct Interpreter {
    /// The program itself, not a shim that looks for it.
    pub path: PathBuf,
    /// Its version, such as `3.11`.
    pub version: String,
}

impl Interpreter {
    /// What follows the first dot of its version.
    fn minor(&self) -> Option<u32> {
        self.version.split('.').nth(1).and_then(|minor| minor.parse().ok())
    }

    /// The interpreter as a library for other programs, where it has one.
    pub fn library(&self) -> Option<PathBuf> {
        let name = format!("libpython{}.so.1.0", self.version);
        let folders = ["../lib", "../lib/x86_64-linux-gnu"];
        let beside = |folder: &str| self.path.with_file_name("").join(folder).join(&name);
        folders.into_iter().map(beside).find(|library| library.exists())
    }
}

/// Narrows long runs to some versions, separated by spaces.
const WANTED: &str = "HEAPLENS_PYTHON_VERSIONS";

const VERSIONS: [&str; 7] = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"];

/// A file that all processes of one run of the tests share: where the interpreters are. Asking each takes seconds.
const FOUND: &str = "HEAPLENS_TEST_INTERPRETERS";

/// Every interpreter that can be found: `python3` and the system's, which is linked otherwise, and one of each version.
/// Panics for the test where there is none.
pub fn all(test: &str) -> Vec<Interpreter> {
    let mut found = match std::env::var_os(FOUND) {
        Some(path) => shared(Path::new(&path)),
        None => asked(),
    };
    if let Ok(wanted) = std::env::var(WANTED) {
        found.retain(|one| wanted.split(' ').any(|version| version == one.version));
    }
    if is_run_of_a_change() {
        found = few(found);
    }
    assert!(!found.is_empty(), "{test}: no Python that can be read on this machine");
    found
}

/// The same for what does not depend on how an interpreter is linked: in a run that is to be short, one of each version.
pub fn versions(test: &str) -> Vec<Interpreter> {
    let mut found: Vec<Interpreter> = Vec::new();
    for one in all(test) {
        if !is_run_of_a_change() || found.iter().all(|other| other.version != one.version) {
            found.push(one);
        }
    }
    found
}

/// For tests of many cases, each of which takes a while.
pub struct InTurn(Vec<Interpreter>);

/// Every version for every case; in a run that is to be short, the versions in turn, one for each case.
pub fn in_turn(test: &str) -> InTurn {
    InTurn(versions(test))
}

impl InTurn {
    /// The interpreters that a case runs on, by its index.
    pub fn of(&self, case: usize) -> &[Interpreter] {
        let one = case % self.0.len();
        if is_run_of_a_change() { &self.0[one..=one] } else { &self.0 }
    }
}

/// `python3`, the system's, and the newest: all of them are for `--all`.
fn few(mut found: Vec<Interpreter>) -> Vec<Interpreter> {
    let newest = found.iter().map(Interpreter::minor).max().flatten();
    let mut index = 0;
    found.retain(|one| {
        index += 1;
        index <= 2 || one.minor() == newest
    });
    found
}

/// What whoever came first wrote there: a line with version and path for each.
fn shared(path: &Path) -> Vec<Interpreter> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = file.expect("the build folder is writable");
    file.lock().expect("a file of ours can be locked");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a file of ours is text");
    if text.is_empty() {
        let lines = asked().into_iter().map(|one| format!("{} {}\n", one.version, one.path.display()));
        text = lines.collect();
        file.write_all(text.as_bytes()).expect("the build folder is writable");
    }
    let known = text.lines().filter_map(|line| line.split_once(' '));
    known.map(|(version, path)| Interpreter { path: path.into(), version: version.to_owned() }).collect()
}

fn asked() -> Vec<Interpreter> {
    let mut found: Vec<Interpreter> = Vec::new();
    let named = ["python3".to_owned(), "/usr/bin/python3".to_owned()];
    let numbered = VERSIONS.iter().map(|version| format!("python{version}"));
    let unpacked = VERSIONS.iter().filter_map(|version| unpacked(&format!("python{version}")));
    let unpacked = unpacked.map(|path| path.display().to_string());
    for name in named.into_iter().chain(numbered).chain(installed()).chain(unpacked) {
        if let Some(one) = ask(&name)
            && found.iter().all(|other| other.path != one.path)
        {
            found.push(one);
        }
    }
    found
}

/// The first of them, for what is the same on all.
pub fn any() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| all("any").swap_remove(0).path)
}

/// A few of them, as different as possible: `python3`, the system's, the newest and the oldest.
pub fn some(test: &str) -> Vec<Interpreter> {
    let mut found = all(test);
    let versions = found.iter().map(Interpreter::minor);
    let (oldest, newest) = (versions.clone().min().flatten(), versions.max().flatten());
    let mut index = 0;
    found.retain(|one| {
        index += 1;
        index <= 2 || one.minor() == oldest || one.minor() == newest
    });
    found
}

/// Interpreters whose frames are not read: before 3.8.
pub fn too_old() -> Vec<PathBuf> {
    let is_old = |path: &PathBuf| {
        let code = "import sys; sys.exit(sys.version_info >= (3, 8))";
        Command::new(path).args(["-c", code]).status().is_ok_and(|status| status.success())
    };
    installed().into_iter().map(PathBuf::from).filter(is_old).collect()
}

/// One of the newer interpreters that `cargo xtask soak` unpacks into the build's folder, where it did.
pub fn unpacked(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("interpreters");
    Some(folder.join("usr/bin").join(name)).filter(|path| path.exists())
}

/// Those that a version manager keeps beside each other.
fn installed() -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let root = std::env::var("PYENV_ROOT").unwrap_or_else(|_| format!("{home}/.pyenv"));
    let folders = std::fs::read_dir(format!("{root}/versions")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("bin/python3").display().to_string()).collect()
}

fn ask(name: &str) -> Option<Interpreter> {
    const QUESTION: &str = "import os, sys
print(os.path.realpath(sys.executable), '%d.%d' % sys.version_info[:2], sep='\\n')";
    let output =
        Command::new(name).args(["-c", QUESTION]).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (path, version) = text.trim_end().split_once('\n')?;
    let version = version.to_owned();
    VERSIONS.contains(&version.as_str()).then(|| Interpreter { path: path.into(), version })
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn every_version_is_here_or_said_to_be_absent() {
    let test = "python::interpreters::every_version_is_here_or_said_to_be_absent";
    let found = all(test);
    let is_absent = |version: &&str| found.iter().all(|one| one.version != *version);
    let absent: Vec<&str> = VERSIONS.into_iter().filter(is_absent).collect();
    if !absent.is_empty() {
        skip(test, &format!("no Python {} on this machine: nothing runs on it", absent.join(", ")));
    }
}
