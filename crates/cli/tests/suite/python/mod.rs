//! Python programs: their lines, on every interpreter that this machine has.

mod behaviour;
pub mod interpreters;
mod loops;
mod objects;
mod package;
mod probe;
mod references;
mod returns;
mod signal;
mod stacks;
pub mod tensorflow;
mod walks;
mod ways;

use std::path::{Path, PathBuf};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

/// A script of `tests/programs`.
pub fn script(name: &str) -> PathBuf {
    Path::new(PROGRAMS).join(name)
}
