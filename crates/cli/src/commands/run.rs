//! `heaplens run`: runs the program, writes the recording, prints the report. Whatever happens to these two, the exit status of
//! the program is passed on.

use std::env;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use heaplens_analyze::Profile;
use heaplens_analyze::heap::Analysis;
use heaplens_format::environment::{Imports, Objects};
use heaplens_format::recording::Recording;
use heaplens_format::{Bytes, Pid};
use heaplens_record::{Listeners, Outcome, Progress, Recorded, RunError, RunOptions, Session, run_with};
use heaplens_snapshot::Snapshot;

use crate::checks::GuardArguments;
use crate::destination;
use crate::failure::{Failure, eprint};
use crate::launch::{explain, leak_check_marks, status_of};
use crate::limits::{LimitArguments, Limits};
use crate::pattern::Pattern;
use crate::recording::{Sealed, profile_of, seal};
use crate::render::{html_page, plain, render, text_options};
use crate::size;
use crate::status::StatusLine;
use crate::values::{Color, Format, YesNo};

/// `heaplens run`. The report goes to stderr, since stdout belongs to the program.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Write the recording to FILE (%p: process ID, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.hlr")]
    pub(crate) output: OsString,
    /// Also write the report to FILE as JSON (with the same % sequences)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OsString>,
    /// Also write the report to FILE as an HTML page (with the same % sequences)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OsString>,
    /// Sample allocations, on average one every SIZE bytes (such as 512KiB), instead of recording all
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) sample: Option<Bytes>,
    /// Which small Python objects (up to 512 bytes, allocated by pymalloc) to record
    #[arg(long, value_name = "WHICH", default_value = "sampled")]
    pub(crate) python_allocations: PythonAllocations,
    /// Whether what libraries do while they are imported is recorded as the import of each module, or with whole stacks
    #[arg(long, value_name = "WHICH", default_value = "folded")]
    pub(crate) imports: ImportStacks,
    /// Also record programs that the program starts (follow exec)
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) trace_children: YesNo,
    /// Take heap snapshots while memory grows and at exit, to find what holds memory and what is lost
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) heap: YesNo,
    /// Also take a heap snapshot after each heaplens.mark("LABEL")
    #[arg(long, value_name = "LABEL")]
    pub(crate) snapshot_at: Option<String>,
    /// Check the leaks between two marks: heaplens.mark("LABEL"), or start
    #[arg(long, value_name = "MARK")]
    pub(crate) leak_check_from: Option<String>,
    /// The mark that ends this check, or end (the default)
    #[arg(long = "to", value_name = "MARK", requires = "leak_check_from")]
    pub(crate) leak_check_to: Option<String>,
    /// Show all keys of dicts on reference paths, not only names and constants of the source; they may be confidential
    #[arg(long)]
    pub(crate) show_keys: bool,
    /// Do not run gc.collect() and malloc_trim() at exit
    #[arg(long)]
    pub(crate) passive: bool,
    /// Enable the framework integrations (TensorFlow)
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) frameworks: YesNo,
    /// Finalize the graph of a TensorFlow session after N runs from the same line (10 if N is omitted); code that adds to the
    /// graph afterwards raises an exception and is named in the report
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) finalize_graph: Option<u32>,
    #[command(flatten)]
    pub(crate) guard: GuardArguments,
    /// Write the recording, but print no report
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// When to color the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Program to run, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub(crate) command: Vec<OsString>,
}

/// Which small Python objects are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PythonAllocations {
    /// A sample of some thousand objects; totals are estimates with a margin of error
    Sampled,
    /// All objects
    All,
    /// No objects
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

/// What is kept of stacks inside imports of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportStacks {
    /// The line that imports, and the modules that are being loaded
    Folded,
    /// Whole stacks
    Full,
}

impl From<ImportStacks> for Imports {
    fn from(which: ImportStacks) -> Self {
        match which {
            ImportStacks::Folded => Self::Folded,
            ImportStacks::Full => Self::Full,
        }
    }
}

/// Printed at the end of `heaplens run --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens run -- python train.py
  heaplens run -o run.hlr --json run.json -- ./server --port 8080
  heaplens run --html memory.html -- python train.py
  heaplens run --finalize-graph -- python train.py
  heaplens run --sample 512KiB -- ./allocates_a_lot
  heaplens run --max-growth 1KiB/iteration --error-exitcode 3 -- pytest tests/";

/// Runs the program, writes the recording, prints the report.
pub(crate) fn run(arguments: RunArguments, agent: &'static [u8]) -> Result<ExitCode, Failure> {
    let outputs = Outputs::prepare(&arguments)?;
    let wanted = arguments.guard.wanted(None, &arguments.command)?;
    let options = RunOptions {
        command: arguments.command.clone(),
        agent: Some(agent),
        sample: arguments.sample,
        objects: arguments.python_allocations.into(),
        imports: arguments.imports.into(),
        follow: arguments.trace_children == YesNo::Yes,
        passive: arguments.passive,
        frameworks: arguments.frameworks == YesNo::Yes,
        finalize_graph: arguments.finalize_graph,
        memcheck: false,
        checks: wanted.checks,
        guarded_code: wanted.guarded_code,
        leak_check: leak_check_marks(arguments.leak_check_from.clone(), arguments.leak_check_to.clone())?,
        clean_blocks: false,
        inspects_every_end: false,
    };
    let snapshots = HeapSnapshots {
        on_growth: arguments.heap == YesNo::Yes,
        at_mark: arguments.snapshot_at.as_deref(),
        show_keys: arguments.show_keys,
    };
    let outcome = recorded(options, arguments.quiet, snapshots).map_err(explain)?;
    for warning in &outcome.warnings {
        eprint(&format!("warning: {warning}"));
    }
    let status = match outcome.recorded {
        Recorded::Bare(reason) => {
            eprint(&format!("heaplens: nothing was recorded: {reason}"));
            None
        }
        Recorded::Whole { recording, session } => outputs.deliver(*recording, outcome.pid, session)?,
    };
    Ok(ExitCode::from(status.unwrap_or(status_of(outcome.exit))))
}

/// Which heap snapshots to take.
#[derive(Clone, Copy)]
struct HeapSnapshots<'a> {
    /// While memory grows, and at exit.
    on_growth: bool,
    /// After marks with this label.
    at_mark: Option<&'a str>,
    /// With all keys of dicts.
    show_keys: bool,
}

/// Runs the program, with a status line where the terminal has room for one.
fn recorded(options: RunOptions, quiet: bool, snapshots: HeapSnapshots<'_>) -> Result<Outcome, RunError> {
    let mut line = StatusLine::on_stderr(quiet);
    let mut analysis = Analysis::showing_keys(snapshots.show_keys);
    let mut show = line.as_mut().map(|line| |progress: &Progress| line.show(progress));
    let mut examine = |snapshot: &Snapshot, _| match snapshot.focus {
        Some(_) => analysis.section(snapshot),
        None => analysis.holders(snapshot),
    };
    let takes_any = snapshots.on_growth || snapshots.at_mark.is_some();
    let listeners = Listeners {
        progress: show.as_mut().map(|show| show as _),
        examiner: takes_any.then_some(&mut examine as _),
        snapshots: snapshots.on_growth,
        snapshot_at: snapshots.at_mark,
    };
    let outcome = run_with(options, listeners);
    if let Some(line) = &mut line {
        line.erase();
    }
    outcome
}

/// Where the results are written.
struct Outputs {
    recording: Pattern,
    json: Option<Pattern>,
    html: Option<Pattern>,
    limits: Limits,
    quiet: bool,
    color: Color,
}

impl Outputs {
    /// Parses the file names and checks that they can be written, before the program runs for hours.
    fn prepare(arguments: &RunArguments) -> Result<Self, Failure> {
        let recording = checked(&arguments.output)?;
        let json = arguments.json.as_ref().map(checked).transpose()?;
        let html = arguments.html.as_ref().map(checked).transpose()?;
        let limits = Limits::prepare(&arguments.limits)?;
        Ok(Self { recording, json, html, limits, quiet: arguments.quiet, color: arguments.color })
    }

    /// Writes the recording and the reports; returns the exit status that the limits ask for, if any.
    fn deliver(&self, recording: Recording, pid: Pid, session: Session) -> Result<Option<u8>, Failure> {
        let sealed = seal(recording, &self.recording.expand(pid), pid, session.path())?;
        // Failing to remove it is harmless: it is in memory or in temporary space, and no longer needed.
        session.remove().ok();
        let profile = profile_of(&sealed.decoded, None, self.limits.floor()).map_err(|error| {
            Failure::new(error).hint(format!("heaplens report {}", sealed.path.display()))
        })?;
        self.show(&profile, &sealed);
        let sealed = sealed.path.display();
        let as_json = || render(&profile, Format::Json, plain());
        written(self.json.as_ref(), pid, as_json, || format!("heaplens report --format json {sealed}"))?;
        let as_html = || html_page(&profile);
        written(self.html.as_ref(), pid, as_html, || format!("heaplens report {sealed} --html FILE"))?;
        self.limits.status(&profile)
    }

    /// Errors are ignored: with a closed stderr the report is lost, but it can be printed from the recording.
    fn show(&self, profile: &Profile, sealed: &Sealed) {
        if self.quiet {
            return;
        }
        let text = render(profile, Format::Text, text_options(self.color, &stderr()));
        stderr().write_all(&text).ok();
        eprint(&format!(
            "heaplens: wrote {0} ('heaplens report {0}' prints this report again)",
            sealed.path.display()
        ));
    }
}

/// Writes a report to its file if there is one; on failure, `again` is the command that writes it from the recording.
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

fn checked(pattern: &OsString) -> Result<Pattern, Failure> {
    let pattern = Pattern::parse(pattern, |name| env::var_os(name))?;
    if !pattern.directory_has_pid() {
        destination::check(&pattern.expand(Pid::new(std::process::id())))?;
    }
    Ok(pattern)
}
