//! `heaplens snapshot`: what is known of a program that is being recorded, while it runs. The program is asked to try what
//! comes back, a snapshot of its heap is taken, and it goes on.

use std::env;
use std::ffi::OsString;
use std::io::stdout;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use heaplens_analyze::heap::Analysis;
use heaplens_format::Pid;
use heaplens_record::{Asked, CollectError, NotRecorded, RecordedProcess, collect_with};
use heaplens_snapshot::Snapshot;

use crate::failure::{Failure, tell};
use crate::pattern::Pattern;
use crate::recording::{profiled, seal};
use crate::render::{look, print, render};
use crate::values::{Color, Format};

/// `heaplens snapshot`. The report goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// The process: one that heaplens run started, or a child of it
    #[arg(value_name = "PID")]
    pid: u32,
    /// Seal what is known now as FILE (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.snapshot.hlr")]
    output: OsString,
    /// Only look: do not try what Python's collector and the allocator give back
    #[arg(long)]
    passive: bool,
    /// The form of the report
    #[arg(long, default_value = "text")]
    format: Format,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// What `heaplens snapshot --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens snapshot 4711
  heaplens snapshot 4711 --passive -o now.hlr";

/// How long the program may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks, reads, prints.
pub(crate) fn snapshot(arguments: &SnapshotArguments) -> Result<ExitCode, Failure> {
    let pid = Pid::new(arguments.pid);
    let path = Pattern::parse(&arguments.output, |name| env::var_os(name))?.expand(pid);
    let process = RecordedProcess::find(pid).map_err(|error| explain(&error))?;
    if !arguments.passive
        && let Err(why) = process.test(TIMEOUT)
    {
        tell(&format!("heaplens: process {pid} did not try what comes back: {why}"));
    }
    let mut analysis = Analysis::default();
    let mut examine = |snapshot: &Snapshot, _| analysis.holders(snapshot);
    let asked = Asked { process: &process, examiner: &mut examine };
    let recording = collect_with(process.directory(), Some(asked)).map_err(|error| gone(&error))?;
    let sealed = seal(recording, &path, pid, process.directory())?;
    tell(&format!("heaplens: sealed {}", sealed.path.display()));
    let profile = profiled(&sealed.decoded, Some(pid)).map_err(Failure::new)?;
    print(&render(&profile, arguments.format, look(arguments.color, &stdout())))?;
    Ok(ExitCode::SUCCESS)
}

fn explain(error: &NotRecorded) -> Failure {
    Failure::new(error)
        .hint("heaplens run -- PROGRAM records one; its number is that of the program, not of heaplens")
}

fn gone(error: &CollectError) -> Failure {
    Failure::new(error).hint("the program has ended, and heaplens run has its recording")
}
