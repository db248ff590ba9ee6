//! `heaplens report`: prints a recording, or the session directory of a killed recorder, as text, JSON, collapsed stacks or an
//! HTML page.

use std::io::stdout;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use heaplens_format::Pid;
use heaplens_format::recording::{Decoded, ProcessEnd, Recording};
use heaplens_record::{CollectError, collect};

use crate::destination;
use crate::failure::{Failure, eprint};
use crate::limits::{LimitArguments, Limits};
use crate::recording::{no_such_process, profile_of, read, seal};
use crate::render::{html_page, import_tree, plain, print, render, text_options};
use crate::values::{Color, Format};

/// `heaplens report`. The report goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Recording, or session directory that a killed recorder left behind
    #[arg(value_name = "FILE|DIR")]
    input: PathBuf,
    /// Report format
    #[arg(long, default_value = "text")]
    format: Format,
    /// Report on this process only
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Write the report to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the report to FILE as an HTML page, and nothing to stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output"])]
    html: Option<PathBuf>,
    /// Print what each import of a library costs, as a tree
    #[arg(long, conflicts_with_all = ["format", "output", "html"])]
    imports: bool,
    #[command(flatten)]
    limits: LimitArguments,
    /// When to color the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Printed at the end of `heaplens report --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens report heaplens.4711.hlr
  heaplens report run.hlr --format json -o run.json
  heaplens report run.hlr --html run.html
  heaplens report run.hlr --pid 4713
  heaplens report run.hlr --imports
  heaplens report run.hlr --baseline known.json --error-exitcode 3";

/// Reads the recording, analyzes it, prints the report.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let limits = Limits::prepare(&arguments.limits)?;
    let decoded = match arguments.input.is_dir() {
        true => collected(&arguments.input)?,
        false => read(&arguments.input)?,
    };
    let profile = profile_of(&decoded, arguments.pid.map(Pid::new), limits.floor())
        .map_err(|error| no_such_process(&error))?;
    // The recording of a large program takes hundreds of megabytes, and the profile has all that is reported.
    drop(decoded);
    if arguments.imports {
        print(&import_tree(&profile, text_options(arguments.color, &stdout())))?;
        return Ok(limits.status(&profile)?.map_or(ExitCode::SUCCESS, ExitCode::from));
    }
    match (&arguments.html, &arguments.output) {
        (Some(path), _) => write(path, &html_page(&profile))?,
        (None, Some(path)) => write(path, &render(&profile, arguments.format, plain()))?,
        (None, None) => print(&render(&profile, arguments.format, text_options(arguments.color, &stdout())))?,
    }
    Ok(limits.status(&profile)?.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    destination::write(path, bytes).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", path.display()))
            .hint("use another file, or omit the option to print the report on stdout")
    })
}

/// Writes the recording of a session directory. The directory is kept, so that the command can be repeated.
fn collected(directory: &Path) -> Result<Decoded, Failure> {
    let recording = collect(directory).map_err(|error| no_session(&error))?;
    let pid = recording.processes.first().map_or(Pid::new(0), |process| process.pid);
    let running = still_running(&recording);
    let sealed = seal(recording, &PathBuf::from(format!("heaplens.{pid}.hlr")), pid, directory)?;
    eprint(&format!("heaplens: wrote {}", sealed.path.display()));
    eprint(&match running {
        0 => format!("heaplens: {} is no longer needed and can be removed", directory.display()),
        count => format!("heaplens: {count} processes are still writing to {}", directory.display()),
    });
    Ok(sealed.decoded)
}

fn still_running(recording: &Recording) -> usize {
    recording.processes.iter().filter(|process| process.end == ProcessEnd::Running).count()
}

fn no_session(error: &CollectError) -> Failure {
    Failure::new(error)
        .hint("heaplens report reads a recording (heaplens.PID.hlr) or the session directory that a killed recorder left behind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_a_session_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let failure = format!("{:?}", collected(directory.path()).unwrap_err());
        assert!(failure.contains("contains no arenas"), "{failure}");
    }
}
