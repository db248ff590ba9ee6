//! `heaplens snapshot`: reports on a program that is being recorded, while it runs. The program runs the reclaim test, a snapshot
//! of its heap is taken, and it continues.

use std::env;
use std::ffi::OsString;
use std::io::stdout;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use heaplens_analyze::diagnose::Floor;
use heaplens_analyze::heap::Analysis;
use heaplens_format::Pid;
use heaplens_record::{Asked, CollectError, NotRecorded, RecordedProcess, collect_with};
use heaplens_snapshot::Snapshot;

use crate::failure::{Failure, eprint};
use crate::pattern::Pattern;
use crate::recording::{profile_of, seal};
use crate::render::{print, render, text_options};
use crate::values::{Color, Format};

/// `heaplens snapshot`. The report goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// ID of a process that was started with heaplens run, or of a child of it
    #[arg(value_name = "PID")]
    pid: u32,
    /// Write the recording so far to FILE (%p: process ID, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.snapshot.hlr")]
    output: OsString,
    /// Do not run gc.collect() and malloc_trim()
    #[arg(long)]
    passive: bool,
    /// Show all keys of dicts on reference paths, not only names and constants of the source
    #[arg(long)]
    show_keys: bool,
    /// Report format
    #[arg(long, default_value = "text")]
    format: Format,
    /// When to color the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Printed at the end of `heaplens snapshot --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens snapshot 4711
  heaplens snapshot 4711 --passive -o now.hlr";

/// Timeout for the reclaim test.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the reclaim test, takes the snapshot, prints the report.
pub(crate) fn snapshot(arguments: &SnapshotArguments) -> Result<ExitCode, Failure> {
    let pid = Pid::new(arguments.pid);
    let path = Pattern::parse(&arguments.output, |name| env::var_os(name))?.expand(pid);
    let process = RecordedProcess::find(pid).map_err(|error| explain(&error))?;
    if !arguments.passive
        && let Err(why) = process.test(TIMEOUT)
    {
        eprint(&format!("heaplens: process {pid} did not run the reclaim test: {why}"));
    }
    let mut analysis = Analysis::showing_keys(arguments.show_keys);
    let mut examine = |snapshot: &Snapshot, _| analysis.holders(snapshot);
    let asked = Asked { process: &process, examiner: &mut examine };
    let recording = collect_with(process.directory(), Some(asked)).map_err(|error| gone(&error))?;
    let sealed = seal(recording, &path, pid, process.directory())?;
    eprint(&format!("heaplens: wrote {}", sealed.path.display()));
    let profile = profile_of(&sealed.decoded, Some(pid), Floor::Relative).map_err(Failure::new)?;
    print(&render(&profile, arguments.format, text_options(arguments.color, &stdout())))?;
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &NotRecorded) -> Failure {
    Failure::new(error)
        .hint("start the program with heaplens run -- PROGRAM, and use the process ID of the program, not of heaplens")
}

fn gone(error: &CollectError) -> Failure {
    Failure::new(error).hint("the program has exited; heaplens run has written its recording")
}
