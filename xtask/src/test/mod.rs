//! `cargo xtask test`: sets up, builds and tests what a change has to pass. Set-up waits for the network while the builds
//! compute; then every test runs, several at a time, and the run ends with where its time went and one line with the count.
//!
//! ```text
//!   set-up ┐
//!   builds ┴─▶ tests ─▶ labelled programs ─▶ slowest tests, time of each group, N passed, N failed, N skipped
//! ```

mod binaries;
mod job;
mod labelled;
mod options;
mod outcome;
mod phases;
mod pipe;
mod schedule;
mod setup;

use std::process::ExitCode;
use std::thread;

use anyhow::{Result, anyhow};

use crate::check::Count;
use options::TestOptions;
use phases::Phases;

/// Runs what the options ask for.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let options = TestOptions::parse(words)?;
    let mut phases = Phases::default();
    let of_setup = options.clone();
    let setup = thread::spawn(move || (setup::provide(of_setup.scope), labelled::provide(&of_setup)));
    let built = phases.time("build", || binaries::build(&options));
    let setup = phases.time("waiting for set-up", || setup.join());
    let (variables, programs) = setup.map_err(|_| anyhow!("setting up the tests panicked"))?;
    let jobs = job::plan(&built?, &options)?;
    let mut outcomes = phases.time("tests", || schedule::run(jobs, &variables));
    outcomes.extend(phases.time("corpus", || labelled::run(programs)));
    outcome::print_times(&outcomes);
    phases.print();
    let Count { passed, failed, skipped } = outcome::count(&outcomes);
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
