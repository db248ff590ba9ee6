//! One run, from the command line to its recording. This file has the order of the steps; each is implemented elsewhere.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use heaplens_format::environment::{Checks, Imports, Objects};
use heaplens_format::recording::{Exit, Recording, Run};
use heaplens_format::{Bytes, Pid};

use crate::agent::{self, AgentFile, Folders, NoDirectoryForAgent};
use crate::launch::{self, BareReason, LookupError, Preload};
use crate::os::Stopwatch;
use crate::os::{HeldSignals, children};
use crate::seal::{self, Inspected, Known, Warning};
use crate::session::{self, Session, SessionError, WakeUpFifo};
use crate::watch::{self, Ended, Listeners, RunPaths};

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The command: a program, as a shell would find it, and its arguments.
    pub command: Vec<OsString>,
    /// The bytes of the agent library; without them the program runs bare.
    pub agent: Option<&'static [u8]>,
    /// Mean distance of samples; `None`: every allocation.
    pub sample: Option<Bytes>,
    /// Which small objects of Python are recorded.
    pub objects: Objects,
    /// What is kept of stacks inside imports.
    pub imports: Imports,
    /// Whether programs that the command starts are recorded too.
    pub follow: bool,
    /// Whether the reclaim test at exit (`gc.collect`, `malloc_trim`) is off.
    pub passive: bool,
    /// Whether framework integration is on: graphs, pools and threads of TensorFlow.
    pub frameworks: bool,
    /// After how many runs of a session from one line its graph is finalized.
    pub finalize_graph: Option<u32>,
    /// Whether stacks of frees are kept and arguments of functions are checked, as Memcheck does.
    pub memcheck: bool,
    /// What else is done to find memory errors.
    pub checks: Checks,
    /// The code whose blocks are guarded ([`heaplens_format::environment::GUARDED_CODE`]).
    pub guarded_code: String,
    /// The marks between which leaks are checked.
    pub leak_check: Option<LeakCheckMarks>,
    /// Whether the allocator overwrites old contents of blocks: stale pointers in them would seem to hold lost blocks.
    pub clean_blocks: bool,
    /// Whether leaks are looked for at the end of every process, also at a signal that ends it.
    pub inspects_every_end: bool,
}

/// A part of the program between two of its marks, each given by its label, or as `start` or `end` of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakCheckMarks {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
}

/// How a run went.
#[derive(Debug)]
pub struct Outcome {
    /// The command's own process.
    pub pid: Pid,
    /// How it ended.
    pub exit: Exit,
    /// What was recorded.
    pub recorded: Recorded,
    /// What is missing from the recording.
    pub warnings: Vec<Warning>,
}

/// What was recorded of a run.
#[derive(Debug)]
pub enum Recorded {
    /// Nothing, for a reason that the user should read.
    Bare(BareReason),
    /// A recording. The session's directory is kept until the caller has written the recording and removes it.
    Whole {
        /// The recording, without symbols.
        recording: Box<Recording>,
        /// The directory with the arenas.
        session: Session,
    },
}

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command has no words.
    #[error("no command given")]
    NoCommand,
    /// The first word names no program.
    #[error("cannot run {}: {source}", program.display())]
    Program {
        /// The word.
        program: PathBuf,
        /// Why.
        source: LookupError,
    },
    /// The kernel refused to start it.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The file.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no directory for the arenas.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is no directory for the agent.
    #[error(transparent)]
    Agent(#[from] NoDirectoryForAgent),
    /// The recorder could not prepare itself.
    #[error("cannot prepare to watch the program: {0}")]
    Unready(io::Error),
    /// The program was started and cannot be watched any longer. Its arenas are kept.
    #[error("cannot watch the program any longer: {source}")]
    Lost {
        /// The directory with the arenas; `None` for a bare run.
        session: Option<PathBuf>,
        /// Why.
        source: io::Error,
    },
}

/// Runs a command to its end and reads the arenas that the agent left.
///
/// The caller must have no other children: orphans of the tree become children of this process, and any that ends is reaped.
pub fn run(options: RunOptions) -> Result<Outcome, RunError> {
    run_with(options, Listeners::default())
}

/// The same with listeners.
pub fn run_with(options: RunOptions, listeners: Listeners<'_>) -> Result<Outcome, RunError> {
    let word = options.command.first().ok_or(RunError::NoCommand)?;
    let program = launch::find(word, env::var_os("PATH").as_deref())
        .map_err(|source| RunError::Program { program: word.into(), source })?;
    match bare_reason(&options, &program) {
        Some(reason) => run_bare(&options, &program, reason),
        None => run_recorded(&options, &program, listeners),
    }
}

fn bare_reason(options: &RunOptions, program: &Path) -> Option<BareReason> {
    match options.agent {
        None => Some(BareReason::NoAgent),
        Some(_) => launch::inspect(program),
    }
}

fn run_bare(options: &RunOptions, program: &Path, reason: BareReason) -> Result<Outcome, RunError> {
    let (ended, _) = run_to_end(options, program, None, Listeners::default())?;
    Ok(outcome(&ended, Recorded::Bare(reason), Vec::new()))
}

fn run_recorded(options: &RunOptions, program: &Path, listeners: Listeners<'_>) -> Result<Outcome, RunError> {
    let agent = install_agent(options.agent.unwrap_or_default())?;
    let session = Session::create(env::var_os("TMPDIR"))?;
    let preload = Preload {
        agent: agent.path().to_owned(),
        directory: session.path().to_owned(),
        sample: options.sample,
        objects: options.objects,
        imports: options.imports,
        follow: options.follow,
        passive: options.passive,
        frameworks: options.frameworks,
        finalize_graph: options.finalize_graph,
        memcheck: options.memcheck,
        checks: options.checks,
        guarded_code: options.guarded_code.clone(),
        leak_check: options.leak_check.clone().map(|LeakCheckMarks { from, to }| [from, to]),
        clean_blocks: options.clean_blocks,
        inspects_every_end: options.inspects_every_end,
    };
    let is_inspected = listeners.examiner.is_some();
    match run_to_end(options, program, Some(&preload), listeners) {
        Ok((ended, clock)) => seal_run(options, is_inspected, ended, clock, session),
        Err(error) => {
            drop_unless_started(session, &error);
            Err(error)
        }
    }
}

/// Puts the agent where the dynamic linker can load it from, as long as the result lives.
///
/// # Errors
/// When it cannot be written to any directory.
pub fn install_agent(agent: &[u8]) -> Result<AgentFile, NoDirectoryForAgent> {
    let [cache, home, temporary] = ["XDG_CACHE_HOME", "HOME", "TMPDIR"].map(env::var_os);
    agent::install(agent, &Folders { cache, home, temporary }.candidates())
}

fn run_to_end(
    options: &RunOptions,
    program: &Path,
    preload: Option<&Preload>,
    listeners: Listeners<'_>,
) -> Result<(Ended, Stopwatch), RunError> {
    let signals = HeldSignals::hold().map_err(RunError::Unready)?;
    children::adopt_orphans().map_err(RunError::Unready)?;
    let paths = preload.map(|preload| RunPaths { directory: &preload.directory, agent: &preload.agent });
    let wake_up = paths.and_then(|paths| WakeUpFifo::create(paths.directory).ok());
    let clock = Stopwatch::start();
    let main = launch::spawn(program, &options.command, preload, &signals)
        .map_err(|source| RunError::Start { program: program.to_owned(), source })?;
    let directory = preload.map(|preload| preload.directory.as_path());
    let lost = |source| RunError::Lost { session: directory.map(Path::to_owned), source };
    let ended = watch::until_end(main, paths, wake_up, clock, &signals, listeners).map_err(lost)?;
    Ok((ended, clock))
}

/// A program that never ran left nothing; after that the directory is the user's.
fn drop_unless_started(session: Session, error: &RunError) {
    if !matches!(error, RunError::Lost { .. }) {
        session.remove().ok();
    }
}

fn seal_run(
    options: &RunOptions,
    is_inspected: bool,
    ended: Ended,
    clock: Stopwatch,
    session: Session,
) -> Result<Outcome, RunError> {
    let arenas = session::arenas(session.path())
        .map_err(|source| RunError::Lost { session: Some(session.path().to_owned()), source })?;
    if arenas.is_empty() {
        session.remove().ok();
        return Ok(outcome(&ended, Recorded::Bare(BareReason::NoArena), Vec::new()));
    }
    let run = describe(options, &ended, clock);
    let (pid, exit) = (ended.pid, ended.main.exit);
    let inspected = match is_inspected {
        true if options.inspects_every_end => Inspected::Everyone,
        true => Inspected::Large { main: pid },
        false => Inspected::Nobody,
    };
    let known = Known { inspected, ..known(ended, clock) };
    let (processes, warnings) = seal::processes(&arenas, &known);
    let recording = Box::new(Recording { run, processes });
    Ok(Outcome { pid, exit, recorded: Recorded::Whole { recording, session }, warnings })
}

fn outcome(ended: &Ended, recorded: Recorded, warnings: Vec<Warning>) -> Outcome {
    Outcome { pid: ended.pid, exit: ended.main.exit, recorded, warnings }
}

fn describe(options: &RunOptions, ended: &Ended, clock: Stopwatch) -> Run {
    Run {
        heaplens: env!("CARGO_PKG_VERSION").to_owned(),
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit: Some(ended.main.exit),
        started_unix: seal::unix_time_of(clock.started()),
        wall: ended.wall,
        cpu: ended.cpu,
        sample_interval: options.sample,
    }
}

fn known(ended: Ended, clock: Stopwatch) -> Known {
    let peak = ended.peak_is_its_own.then_some((ended.pid, ended.main.tree_peak_rss));
    Known {
        start: clock.started(),
        wall: ended.wall,
        ticks_per_second: clock.ticks_per_second(),
        exits: ended.exits,
        readings: ended.readings,
        peak,
        inspected: Inspected::Nobody,
    }
}
