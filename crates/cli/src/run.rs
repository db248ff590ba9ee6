//! `heaplens run`: the program first, then the recording, then the report. Whatever becomes of ours, the exit status of the
//! program is passed on.

use std::env;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::Path;
use std::process::ExitCode;

use heaplens_analyze::Profile;
use heaplens_analyze::heap::Analysis;
use heaplens_format::Pid;
use heaplens_format::recording::{Exit, Recording};
use heaplens_record::{
    BareReason, Listeners, LookupError, Outcome, Progress, Recorded, RunError, RunOptions, Session, run_with,
};
use heaplens_snapshot::Snapshot;

use crate::arguments::{Color, Format, RunArguments, YesNo};
use crate::destination;
use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND, tell};
use crate::limits::Limits;
use crate::pattern::Pattern;
use crate::recording::{Sealed, left_behind, profiled, seal};
use crate::render::{look, page, plain, render};
use crate::status::StatusLine;

/// Runs, seals, reports.
pub(crate) fn run(arguments: RunArguments, agent: &'static [u8]) -> Result<ExitCode, Failure> {
    let outputs = Outputs::prepare(&arguments)?;
    let options = RunOptions {
        command: arguments.command,
        agent: Some(agent),
        sample: arguments.sample,
        objects: arguments.python_allocations.into(),
        follow: arguments.trace_children == YesNo::Yes,
        passive: arguments.passive,
        frameworks: arguments.frameworks == YesNo::Yes,
        finalize_graph: arguments.finalize_graph,
        clean_blocks: false,
    };
    let wanted = Wanted { heap: arguments.heap == YesNo::Yes, at: arguments.snapshot_at.as_deref() };
    let outcome = recorded(options, arguments.quiet, wanted).map_err(explain)?;
    for warning in &outcome.warnings {
        tell(&format!("warning: {warning}"));
    }
    let status = match outcome.recorded {
        Recorded::Bare(reason) => outputs.say_bare(&reason),
        Recorded::Whole { recording, session } => outputs.deliver(*recording, outcome.pid, session)?,
    };
    Ok(ExitCode::from(status.unwrap_or(status_of(outcome.exit))))
}

/// Which heap snapshots are taken.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// While it grows, and at the end.
    heap: bool,
    /// Soon after marks with this label.
    at: Option<&'a str>,
}

/// Runs, with a status line while it does where there is a place for one.
fn recorded(options: RunOptions, quiet: bool, wanted: Wanted<'_>) -> Result<Outcome, RunError> {
    let (mut line, mut analysis) = (StatusLine::on_stderr(quiet), Analysis::default());
    let mut show = line.as_mut().map(|line| |progress: &Progress| line.show(progress));
    let mut examine = |snapshot: &Snapshot, _| analysis.holders(snapshot);
    let is_wanted = wanted.heap || wanted.at.is_some();
    let listeners = Listeners {
        audience: show.as_mut().map(|show| show as _),
        examiner: is_wanted.then_some(&mut examine as _),
        snapshots: wanted.heap,
        snapshot_at: wanted.at,
    };
    let outcome = run_with(options, listeners);
    if let Some(line) = &mut line {
        line.erase();
    }
    outcome
}

/// The status that a shell would give: 128 and the signal for a program that was killed.
pub(crate) fn status_of(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code as u8,
        Exit::Signal(signal) => 128u8.wrapping_add(signal as u8),
    }
}

/// Where the results go.
struct Outputs {
    recording: Pattern,
    json: Option<Pattern>,
    html: Option<Pattern>,
    limits: Limits,
    quiet: bool,
    color: Color,
}

impl Outputs {
    /// Reads the names and asks whether they can be written, before the program runs for hours.
    fn prepare(arguments: &RunArguments) -> Result<Self, Failure> {
        let recording = checked(&arguments.output)?;
        let json = arguments.json.as_ref().map(checked).transpose()?;
        let html = arguments.html.as_ref().map(checked).transpose()?;
        let limits = Limits::prepare(&arguments.limits)?;
        Ok(Self { recording, json, html, limits, quiet: arguments.quiet, color: arguments.color })
    }

    fn say_bare(&self, reason: &BareReason) -> Option<u8> {
        tell(&format!("heaplens: nothing was recorded: {reason}"));
        None
    }

    /// Seals and shows; the exit status where the limits have one.
    fn deliver(&self, recording: Recording, pid: Pid, session: Session) -> Result<Option<u8>, Failure> {
        let sealed = seal(recording, &self.recording.expand(pid), pid, session.path())?;
        // A directory that cannot be removed is in memory or temporary space and holds nothing that is still needed.
        session.remove().ok();
        let profile = profiled(&sealed.decoded, None).map_err(|error| {
            Failure::new(error).hint(format!("heaplens report {}", sealed.path.display()))
        })?;
        self.show(&profile, &sealed);
        let sealed = sealed.path.display();
        let as_json = || render(&profile, Format::Json, plain());
        written(self.json.as_ref(), pid, as_json, || format!("heaplens report --format json {sealed}"))?;
        let as_page = || page(&profile);
        written(self.html.as_ref(), pid, as_page, || format!("heaplens report {sealed} --html FILE"))?;
        self.limits.status(&profile)
    }

    /// The report is talk here: a stderr that is closed loses it, and the recording still has it.
    fn show(&self, profile: &Profile, sealed: &Sealed) {
        if self.quiet {
            return;
        }
        let page = render(profile, Format::Text, look(self.color, &stderr()));
        stderr().write_all(&page).ok();
        tell(&format!("heaplens: sealed {0} (heaplens report {0} prints this again)", sealed.path.display()));
    }
}

/// Writes a report where its file was asked for; `again` says how to have it another time.
fn written(
    to: Option<&Pattern>,
    pid: Pid,
    report: impl FnOnce() -> Vec<u8>,
    again: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let Some(path) = to.map(|pattern| pattern.expand(pid)) else { return Ok(()) };
    destination::write(&path, &report())
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())).hint(again()))
}

fn checked(typed: &OsString) -> Result<Pattern, Failure> {
    let pattern = Pattern::parse(typed, |name| env::var_os(name))?;
    if !pattern.folder_is_open() {
        destination::check(&pattern.expand(Pid::new(std::process::id())))?;
    }
    Ok(pattern)
}

pub(crate) fn explain(error: RunError) -> Failure {
    let failure = Failure::new(&error);
    match error {
        RunError::Program { program, source } => explain_program(failure, &program, &source),
        RunError::Start { source, .. } => explain_start(failure, &source),
        RunError::Agent(_) => {
            failure.hint("name a folder that may hold programs: XDG_CACHE_HOME=/a/folder heaplens run …")
        }
        RunError::Session(_) => {
            failure.hint("name a folder with room in it: TMPDIR=/a/folder heaplens run …")
        }
        RunError::Lost { session: Some(directory), .. } => failure.hint(left_behind(&directory)),
        RunError::Lost { session: None, .. } | RunError::Unready(_) | RunError::NoCommand => failure,
    }
}

fn explain_program(failure: Failure, program: &Path, why: &LookupError) -> Failure {
    match why {
        LookupError::NotInPath if program.exists() => failure
            .hint(format!("the one in this folder: heaplens run -- ./{}", program.display()))
            .status(NOT_FOUND),
        LookupError::NotInPath | LookupError::NotFound => failure
            .hint("check the spelling; heaplens run -- PROGRAM ARGS… takes it as a shell would")
            .status(NOT_FOUND),
        LookupError::NotExecutable { path } => {
            failure.hint(format!("if it is a program: chmod +x {}", path.display())).status(NOT_EXECUTABLE)
        }
        LookupError::Directory { .. } => failure.hint("name a program in it").status(NOT_EXECUTABLE),
    }
}

fn explain_start(failure: Failure, why: &std::io::Error) -> Failure {
    match why.kind() {
        std::io::ErrorKind::NotFound => {
            failure.hint("the file is there, but the interpreter that it names is not").status(NOT_FOUND)
        }
        _ => failure.status(NOT_EXECUTABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_a_shell() {
        assert_eq!(status_of(Exit::Code(3)), 3);
        assert_eq!(status_of(Exit::Signal(9)), 137);
        assert_eq!(status_of(Exit::Signal(15)), 143);
    }

    #[test]
    fn a_program_that_is_not_there_is_127_and_one_that_cannot_run_126() {
        let not_found = |source| explain(RunError::Program { program: "x".into(), source });
        let shown = |failure: Failure| format!("{failure:?}");
        assert!(shown(not_found(LookupError::NotInPath)).contains("status: 127"));
        assert!(shown(not_found(LookupError::NotExecutable { path: "x".into() })).contains("status: 126"));
        let start = |kind: std::io::ErrorKind| RunError::Start { program: "x".into(), source: kind.into() };
        assert!(shown(explain(start(std::io::ErrorKind::NotFound))).contains("status: 127"));
        assert!(shown(explain(start(std::io::ErrorKind::PermissionDenied))).contains("status: 126"));
    }

    #[test]
    fn a_run_that_was_lost_names_what_is_left() {
        let source = std::io::ErrorKind::Other.into();
        let failure = explain(RunError::Lost { session: Some("/dev/shm/heaplens-1-2".into()), source });
        assert!(format!("{failure:?}").contains("heaplens report /dev/shm/heaplens-1-2"));
    }
}
