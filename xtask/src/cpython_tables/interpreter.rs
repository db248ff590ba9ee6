//! Interpreters whose headers are on this machine: pyenv's, and those that `cargo xtask soak` unpacks.

use std::path::{Path, PathBuf};

use crate::workspace::target;

/// The versions that there are tables of, by what follows `3.`.
pub const MINORS: std::ops::RangeInclusive<u8> = 8..=14;

/// An interpreter of one version.
#[derive(Debug)]
pub struct Interpreter {
    /// What follows `3.` in its version.
    pub minor: u8,
    /// The program.
    pub program: PathBuf,
    /// The folder that it is installed below.
    pub prefix: PathBuf,
}

impl Interpreter {
    fn below(prefix: &Path, minor: u8) -> Option<Self> {
        let program = prefix.join(format!("bin/python3.{minor}"));
        let found = Self { minor, program, prefix: prefix.to_owned() };
        (found.program.exists() && found.headers().join("internal").exists()).then_some(found)
    }

    /// Where its headers are.
    pub fn headers(&self) -> PathBuf {
        self.prefix.join(format!("include/python3.{}", self.minor))
    }

    /// The file that the interpreter's code is in.
    pub fn object_file(&self) -> PathBuf {
        let library = self.prefix.join(format!("lib/libpython3.{}.so.1.0", self.minor));
        if library.exists() { library } else { self.program.clone() }
    }
}

/// One for each version that is here, oldest first.
pub fn found() -> Vec<Interpreter> {
    let prefixes: Vec<PathBuf> = of_pyenv().into_iter().chain([target().join("interpreters/usr")]).collect();
    MINORS.filter_map(|minor| prefixes.iter().find_map(|prefix| Interpreter::below(prefix, minor))).collect()
}

fn of_pyenv() -> Vec<PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    let pyenv = std::env::var("PYENV_ROOT").unwrap_or_else(|_| format!("{home}/.pyenv"));
    let folders = std::fs::read_dir(Path::new(&pyenv).join("versions")).into_iter().flatten().flatten();
    let mut prefixes: Vec<PathBuf> = folders.map(|folder| folder.path()).collect();
    prefixes.sort();
    prefixes
}
