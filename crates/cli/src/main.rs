//! The command `heaplens`: arguments, messages, exit codes. It records with `record`, explains with `analyze` and formats with
//! `report`; it makes no decisions of theirs.
//!
//! stdout is for data, stderr for messages. `heaplens run` leaves stdout to the program and prints its report on stderr after
//! the program has exited; `heaplens report` prints on stdout. A closed pipe on stdout is not an error: the reader has seen enough.
#![forbid(unsafe_code)]

mod arguments;
mod checks;
mod commands;
mod destination;
mod failure;
mod launch;
mod limits;
mod pattern;
mod recording;
mod render;
mod size;
mod status;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;

use arguments::{Arguments, Command, Parsed};
use commands::{agent, diagnose, diff, export, heap, manual, memcheck, report, run, snapshot};
use failure::Failure;

/// The agent, built by `build.rs` and embedded, so that the binary needs no other file.
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libheaplens.so"));
/// The same for `heaplens memcheck`: it hooks functions that copy, too.
static MEMCHECK_AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libheaplens-memcheck.so"));

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match arguments::parse(&args).and_then(dispatch) {
        Ok(status) => status,
        Err(failure) => failure.show(),
    }
}

fn dispatch(parsed: Parsed) -> Result<ExitCode, Failure> {
    let command = match parsed {
        Parsed::Text(text) => return render::print(text.as_bytes()).map(|()| ExitCode::SUCCESS),
        Parsed::Command(command) => command,
    };
    match *command {
        Command::Run(arguments) => run::run(arguments, AGENT),
        Command::Memcheck(arguments) => memcheck::memcheck(arguments, MEMCHECK_AGENT),
        Command::Report(arguments) => report::report(&arguments),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Snapshot(arguments) => snapshot::snapshot(&arguments),
        Command::Heap(arguments) => heap::heap(&arguments),
        Command::Diagnose(arguments) => diagnose::diagnose(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Agent(arguments) => agent::agent(&arguments, AGENT),
        Command::Man(arguments) => manual::man(&arguments, Arguments::command()),
        Command::Completions(arguments) => manual::completions(&arguments, Arguments::command()),
    }
}
