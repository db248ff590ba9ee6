//! `heaplens diagnose`: what a recording says, as a text that can be shown to others.

use std::process::ExitCode;

use heaplens_format::Pid;

use crate::arguments::DiagnoseArguments;
use crate::failure::Failure;
use crate::recording::{profiled, read};
use crate::render::print;
use crate::report::no_such;

/// Reads and prints.
pub(crate) fn diagnose(arguments: &DiagnoseArguments) -> Result<ExitCode, Failure> {
    let decoded = read(&arguments.input)?;
    let profile = profiled(&decoded, arguments.pid.map(Pid::new)).map_err(|error| no_such(&error))?;
    let mut bytes = Vec::new();
    heaplens_report::text::diagnose::write(&profile, &mut bytes).expect("writing to memory does not fail");
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}
