//! Python programs: their lines, on every interpreter that this machine has.

mod behaviour;
mod free_lists;
mod imports;
pub mod interpreters;
mod library_loops;
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

use crate::harness::Heaplens;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

/// A script of `tests/programs`.
pub fn script(name: &str) -> PathBuf {
    Path::new(PROGRAMS).join(name)
}

/// One kind of such a script; `cargo xtask soak variants` has each with other names and sizes, and a function more between loop
/// and leak.
pub fn kind_of(run: Heaplens, program: &str, kind: &str) -> Heaplens {
    match std::env::var_os("HEAPLENS_VARIED") {
        Some(_) => run.arg(script("varied.py")).arg(program).arg(kind),
        None => run.arg(script(program)).arg(kind),
    }
}
