//! `heaplens diagnose`: what a recording says, as a text that can be shown to others.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use heaplens_format::Pid;

use crate::failure::Failure;
use crate::recording::{no_such_process, profiled, read};
use crate::render::print;

/// `heaplens diagnose`.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// A recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Of this process
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
}

/// What `heaplens diagnose --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens diagnose run.hlr
  heaplens diagnose run.hlr | gh issue create --title 'Memory grows' --body-file -";

/// Reads and prints.
pub(crate) fn diagnose(arguments: &DiagnoseArguments) -> Result<ExitCode, Failure> {
    let decoded = read(&arguments.input)?;
    let profile = profiled(&decoded, arguments.pid.map(Pid::new)).map_err(|error| no_such_process(&error))?;
    let mut bytes = Vec::new();
    heaplens_report::text::diagnose::write(&profile, &mut bytes).expect("writing to memory does not fail");
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}
