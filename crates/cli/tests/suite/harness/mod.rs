//! What all themes need: building the test programs, running Heaplens on them, reading the truth and the report.

mod compare;
mod folder;
mod programs;
mod report;
mod run;
mod truth;

pub use compare::{assert_chains, assert_exact};
pub use folder::Folder;
pub use programs::{allocator, is_root, program, program_with, rust_program, shared_library};
pub use report::{Report, Site};
pub use run::{Finished, Heaplens};
pub use truth::Truth;

use std::io::Write;

/// What is tried besides, unless this is the run that every change has to pass: `cargo xtask test --all` has it, and whoever runs
/// the tests by hand.
pub fn besides<T>(more: &[T]) -> &[T] {
    if is_run_of_a_change() { &[] } else { more }
}

/// Whether this is the run that every change has to pass, which is to be short.
pub fn is_run_of_a_change() -> bool {
    std::env::var("HEAPLENS_TEST_SCOPE").is_ok_and(|scope| scope == "change")
}

/// Says why a test does not run here. Written past libtest's capture, so that it is seen although the test passes.
pub fn skip(test: &str, reason: &str) {
    writeln!(std::io::stderr().lock(), "skipped: {test}: {reason}").expect("stderr is open");
}
