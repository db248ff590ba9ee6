//! The command `heaplens`: words, messages, exit codes. It records through `record`, explains through `analyze` and prints
//! through `report`; what each of them does is not decided here.
//!
//! stdout is data, stderr is talk. `heaplens run` leaves stdout to the program and prints its report on stderr after the
//! program has ended; `heaplens report` prints on stdout. A closed pipe on stdout is the reader's choice and no error.
#![forbid(unsafe_code)]

mod arguments;
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

use arguments::{Arguments, Command, Typed};
use commands::{agent, diagnose, diff, export, heap, manual, memcheck, report, run, snapshot};
use failure::Failure;

/// The agent, built by `build.rs`: the binary needs no other file.
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libheaplens.so"));

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match arguments::parse(&words).and_then(dispatch) {
        Ok(status) => status,
        Err(failure) => failure.show(),
    }
}

fn dispatch(typed: Typed) -> Result<ExitCode, Failure> {
    let command = match typed {
        Typed::Show(text) => return render::print(text.as_bytes()).map(|()| ExitCode::SUCCESS),
        Typed::Do(command) => command,
    };
    match *command {
        Command::Run(arguments) => run::run(arguments, AGENT),
        Command::Memcheck(arguments) => memcheck::memcheck(arguments, AGENT),
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
