//! `heaplens diagnose`: a summary of a recording that can be shared, such as in a bug report.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use heaplens_analyze::diagnose::Floor;
use heaplens_format::Pid;

use crate::failure::Failure;
use crate::recording::{no_such_process, profile_of, read};
use crate::render::print;

/// `heaplens diagnose`. The summary goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// Recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Summarize this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// Printed at the end of `heaplens diagnose --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens diagnose run.hlr
  heaplens diagnose run.hlr | gh issue create --title 'Memory grows' --body-file -";

/// Reads the recording and prints the summary.
pub(crate) fn diagnose(arguments: &DiagnoseArguments) -> Result<ExitCode, Failure> {
    let decoded = read(&arguments.input)?;
    let profile = profile_of(&decoded, arguments.pid.map(Pid::new), Floor::Relative)
        .map_err(|error| no_such_process(&error))?;
    let mut bytes = Vec::new();
    heaplens_report::text::diagnose::write(&profile, &mut bytes).expect("writing to a Vec cannot fail");
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}
