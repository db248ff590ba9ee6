//! `heaplens snapshot`: what is known of a program that is being recorded, while it runs. The program is asked to try what
//! comes back, a snapshot of its heap is taken, and it goes on.

use std::env;
use std::io::stdout;
use std::process::ExitCode;
use std::time::Duration;

use heaplens_analyze::heap::Analysis;
use heaplens_format::Pid;
use heaplens_record::{Asked, CollectError, NotRecorded, RecordedProcess, collect_with};
use heaplens_snapshot::Snapshot;

use crate::arguments::SnapshotArguments;
use crate::failure::{Failure, tell};
use crate::pattern::Pattern;
use crate::recording::{profiled, seal};
use crate::render::{look, print, render};

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
