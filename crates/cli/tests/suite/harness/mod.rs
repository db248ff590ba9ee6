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

/// Says why a test does not run here. Written past libtest's capture, so that it is seen although the test passes.
pub fn skip(test: &str, reason: &str) {
    writeln!(std::io::stderr().lock(), "skipped: {test}: {reason}").expect("stderr is open");
}
