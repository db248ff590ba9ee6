//! What a run and its processes are called: how they ended, their interpreter, their main loop, what was lost of them.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{Iterations, LossLine};
use heaplens_format::recording::{Exit, Interpreter, ProcessEnd, Reading};

use super::number::count;
use super::wording::one_line;

/// Whether the process shown goes on.
pub(crate) fn is_running(profile: &Profile) -> bool {
    profile.shown().is_some_and(|row| row.end == ProcessEnd::Running)
}

/// `1,000 of the loop at train.py:41 in main`; a count that may lack some has an `≈`.
pub(crate) fn iterations(found: &Iterations) -> String {
    let about = if found.is_exact { "" } else { "≈ " };
    let file = one_line(found.file.rsplit('/').next().unwrap_or_default());
    let function = one_line(&found.function);
    format!("{about}{} of the loop at {file}:{} in {function}", count(found.count), found.line)
}

pub(crate) fn python_name(python: Interpreter) -> String {
    match (python.major, python.minor) {
        (0, _) => "Python".to_owned(),
        (major, 0) => format!("Python {major}"),
        (major, minor) => format!("Python {major}.{minor}"),
    }
}

/// Why a Python program has native stacks only.
pub(crate) fn why_unread(reading: Reading) -> &'static str {
    match reading {
        Reading::Frames => "Python frames were recorded",
        Reading::UnknownVersion => "unsupported version, stacks are native only",
        Reading::FreeThreaded => "free-threaded builds are not supported, stacks are native only",
        Reading::DebugBuild => "debug builds are not supported, stacks are native only",
    }
}

pub(crate) fn ending(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("killed by {}", signal_name(signal)),
        None => "exit unknown".to_owned(),
    }
}

pub(crate) fn process_end(end: ProcessEnd) -> String {
    match end {
        ProcessEnd::Unknown => "exit unknown".to_owned(),
        ProcessEnd::Ended(Exit::Signal(signal)) => signal_name(signal),
        ProcessEnd::Ended(exit) => ending(Some(exit)),
        ProcessEnd::Replaced => "called exec".to_owned(),
        ProcessEnd::Running => "running".to_owned(),
    }
}

/// Linux x86-64 numbers of the signals that end programs.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

pub(crate) fn loss_words(loss: &LossLine) -> String {
    match loss.of {
        Some(of) => format!("{} of {} {}", count(loss.count), count(of), loss.what),
        None => format!("{} {}", count(loss.count), loss.what),
    }
}

pub(crate) fn version(profile: &Profile) -> &str {
    match profile.run.heaplens.as_str() {
        "" => env!("CARGO_PKG_VERSION"),
        recorded => recorded,
    }
}
