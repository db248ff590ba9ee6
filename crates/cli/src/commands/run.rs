//! `heaplens run`: the program first, then the recording, then the report. Whatever becomes of ours, the exit status of the
//! program is passed on.

use std::env;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use heaplens_analyze::Profile;
use heaplens_analyze::heap::Analysis;
use heaplens_format::environment::Objects;
use heaplens_format::recording::Recording;
use heaplens_format::{Bytes, Pid};
use heaplens_record::{
    BareReason, Listeners, Outcome, Progress, Recorded, RunError, RunOptions, Session, run_with,
};
use heaplens_snapshot::Snapshot;

use crate::destination;
use crate::failure::{Failure, tell};
use crate::launch::{explain, status_of};
use crate::limits::{LimitArguments, Limits};
use crate::pattern::Pattern;
use crate::recording::{Sealed, profiled, seal};
use crate::render::{look, page, plain, render};
use crate::size;
use crate::status::StatusLine;
use crate::values::{Color, Format, YesNo};

/// `heaplens run`. The report goes to stderr: stdout stays the program's own.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Seal the recording as FILE (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.hlr")]
    pub(crate) output: OsString,
    /// Write the report as JSON too (the same % spellings)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OsString>,
    /// Write the report as an HTML page too (the same % spellings)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OsString>,
    /// Record about one allocation in SIZE bytes (such as 512KiB) instead of every one
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) sample: Option<Bytes>,
    /// Which objects that Python keeps out of malloc (up to 512 bytes) are recorded
    #[arg(long, value_name = "WHICH", default_value = "sampled")]
    pub(crate) python_allocations: PythonAllocations,
    /// Record the programs that the program starts
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) trace_children: YesNo,
    /// Look at the heap while memory grows and at the end: who holds what grows, and what is lost
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) heap: YesNo,
    /// Look at the heap soon after each heaplens.mark("LABEL"), too
    #[arg(long, value_name = "LABEL")]
    pub(crate) snapshot_at: Option<String>,
    /// Only look: do not try, when the script is through, what Python's collector and the allocator give back
    #[arg(long)]
    pub(crate) passive: bool,
    /// Know TensorFlow: what its graphs, sessions and functions do, its pools, which line its threads work for
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) frameworks: YesNo,
    /// Finalize the graph of a TensorFlow session when it has run N times from one line: the first line that would make it grow
    /// raises, and the report names it
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) finalize_graph: Option<u32>,
    /// Print no report, only seal the recording
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub(crate) command: Vec<OsString>,
}

/// Which small objects of Python are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PythonAllocations {
    /// Thousands of them, with the margin that comes of it
    Sampled,
    /// Every one
    All,
    /// None
    None,
}

impl From<PythonAllocations> for Objects {
    fn from(which: PythonAllocations) -> Self {
        match which {
            PythonAllocations::Sampled => Self::Sampled,
            PythonAllocations::All => Self::All,
            PythonAllocations::None => Self::None,
        }
    }
}

/// What `heaplens run --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens run -- python train.py
  heaplens run -o run.hlr --json run.json -- ./server --port 8080
  heaplens run --html memory.html -- python train.py
  heaplens run --finalize-graph -- python train.py
  heaplens run --sample 512KiB -- ./allocates_a_lot
  heaplens run --max-growth 1KiB/iteration --error-exitcode 3 -- pytest tests/";

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
