//! One run under the engine, from the command line to what the reader found.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use heaplens_format::recording::Exit;
use heaplens_format::{Nanos, Pid};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

use super::command::{self, Channels};
use super::log;
use super::output::EngineXml;
use super::stdin::SecondInput;
use super::valgrind::{EngineError, Valgrind};
use crate::launch;
use crate::os::{HeldSignals, Stopwatch, children};
use crate::run::RunError;
use crate::watch::{self, Ended, Listeners};

/// Descriptors that Valgrind inherits are not moved away from the program: below this number they would be among those that it opens.
const FIRST_DESCRIPTOR: i32 = 100;
/// Python's own allocator hands out parts of large blocks, in which Memcheck sees no errors.
const PYTHON_ALLOCATOR: &str = "PYTHONMALLOC";

/// What to run under the engine, and how.
#[derive(Debug)]
pub struct EngineOptions {
    /// The command: a program, as a shell would find it, and its arguments.
    pub command: Vec<OsString>,
    /// Options for Valgrind, as on its command line.
    pub options: Vec<String>,
    /// Texts of suppressions.
    pub suppressions: Vec<&'static str>,
    /// Files of suppressions.
    pub suppression_files: Vec<PathBuf>,
    /// Standard input, if the program ran before: then its output is discarded. `None`: everything is the program's own.
    pub second: Option<SecondInput>,
}

/// How a run under the engine went.
#[derive(Debug)]
pub struct EngineRun<T> {
    /// The program's process.
    pub pid: Pid,
    /// How it ended.
    pub exit: Exit,
    /// How long it took.
    pub wall: Nanos,
    /// What the reader found.
    pub found: T,
    /// The last lines that Valgrind printed besides the XML: usually none.
    pub log: String,
}

/// Runs a command to its end under Valgrind. `read` gets the program's path and the XML as it is written, on a thread of its own; what it leaves is discarded.
///
/// The caller must have no other children, as for [`crate::run()`].
///
/// # Errors
/// When the command cannot be run.
pub fn run_engine<T: Send>(
    engine: &Valgrind,
    options: &EngineOptions,
    read: impl FnOnce(&Path, &mut dyn Read) -> T + Send,
) -> Result<EngineRun<T>, EngineError> {
    let word = options.command.first().ok_or(RunError::NoCommand)?;
    let program = launch::find(word, env::var_os("PATH").as_deref())
        .map_err(|source| RunError::Program { program: word.into(), source })?;
    let signals = HeldSignals::hold().map_err(RunError::Unready)?;
    children::adopt_orphans().map_err(RunError::Unready)?;
    let (xml, writer) = io::pipe().map_err(RunError::Unready)?;
    let log = log::create().map_err(RunError::Unready)?;
    // Valgrind opens it by the number of its descriptor, at a time of its own: it must live as long as the program.
    let suppressions = log::readable(&options.suppressions.join("\n")).map_err(RunError::Unready)?;
    let clock = Stopwatch::start();
    let main = start(engine, options, &suppressions.1, (writer, &log), &signals)
        .map_err(|source| RunError::Start { program: engine.file.clone(), source })?;
    let read = |xml: &mut dyn Read| read(&program, xml);
    let (found, ended) = watch_and_read(main, xml, read, clock, &signals)?;
    drop(suppressions);
    Ok(EngineRun { pid: main, exit: ended.main.exit, wall: ended.wall, found, log: log::tail(&log) })
}

/// Both at once: a program whose output nobody reads would wait.
fn watch_and_read<T: Send>(
    main: Pid,
    xml: io::PipeReader,
    read: impl FnOnce(&mut dyn Read) -> T + Send,
    clock: Stopwatch,
    signals: &HeldSignals,
) -> Result<(T, Ended), RunError> {
    let (stop, stopper) = io::pipe().map_err(RunError::Unready)?;
    let mut output = EngineXml::new(xml, stop);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let found = read(&mut output);
            output.drain();
            found
        });
        let ended = watch::until_end(main, None, None, clock, signals, Listeners::default());
        drop(stopper);
        let found = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let ended = ended.map_err(|source| RunError::Lost { session: None, source })?;
        Ok((found, ended))
    })
}

fn start(
    engine: &Valgrind,
    options: &EngineOptions,
    own_suppressions: &OsString,
    (xml, log): (PipeWriter, &File),
    signals: &HeldSignals,
) -> io::Result<Pid> {
    let (xml, log) = (inherited(xml)?, inherited(log)?);
    let files = options.suppression_files.iter().map(|path| path.clone().into_os_string());
    let own = (!options.suppressions.is_empty()).then(|| own_suppressions.clone());
    let paths: Vec<OsString> = files.chain(own).collect();
    let channels = Channels { xml: xml.as_raw_fd(), log: log.as_raw_fd(), suppressions: &paths };
    let mut command = Command::new(&engine.file);
    command.args(command::words(channels, &options.options, &options.command));
    if let Some(second) = &options.second {
        command.stdin(second.stdio()).stdout(Stdio::null()).stderr(Stdio::null());
    }
    if env::var_os(PYTHON_ALLOCATOR).is_none() {
        command.env(PYTHON_ALLOCATOR, "malloc");
    }
    signals.release_in(&mut command);
    command.spawn().map(|child| Pid::new(child.id()))
}

/// A copy of a descriptor that the next program to be started inherits.
fn inherited(descriptor: impl AsFd) -> io::Result<OwnedFd> {
    let copy = fcntl_dupfd_cloexec(&descriptor, FIRST_DESCRIPTOR)
        // Where so few may be open, any number.
        .or_else(|_| fcntl_dupfd_cloexec(&descriptor, 3))?;
    fcntl_setfd(&copy, FdFlags::empty())?;
    Ok(copy)
}
