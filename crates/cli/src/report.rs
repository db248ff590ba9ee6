//! `heaplens report`: a recording, or what a killed recorder left behind, as text, JSON, collapsed stacks or an HTML page.

use std::io::stdout;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use heaplens_analyze::NoSuchProcess;
use heaplens_format::Pid;
use heaplens_format::recording::{Decoded, ProcessEnd, Recording};
use heaplens_record::{CollectError, collect};

use crate::arguments::ReportArguments;
use crate::destination;
use crate::failure::{Failure, tell};
use crate::limits::Limits;
use crate::recording::{profiled, read, seal};
use crate::render::{look, page, plain, print, render};

/// Reads, analyses, prints.
pub(crate) fn report(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let limits = Limits::prepare(&arguments.limits)?;
    let decoded = match arguments.input.is_dir() {
        true => collected(&arguments.input)?,
        false => read(&arguments.input)?,
    };
    let profile = profiled(&decoded, arguments.pid.map(Pid::new)).map_err(|error| no_such(&error))?;
    // The recording of a large program takes hundreds of megabytes, and the profile has what is told.
    drop(decoded);
    match (&arguments.html, &arguments.output) {
        (Some(path), _) => write(path, &page(&profile))?,
        (None, Some(path)) => write(path, &render(&profile, arguments.format, plain()))?,
        (None, None) => print(&render(&profile, arguments.format, look(arguments.color, &stdout())))?,
    }
    Ok(limits.status(&profile)?.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    destination::write(path, bytes).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", path.display()))
            .hint("name another file, or leave it out: the report then goes to stdout")
    })
}

/// Seals what is in the directory of a session. The directory stays: whoever asks twice gets the same answer.
fn collected(directory: &Path) -> Result<Decoded, Failure> {
    let recording = collect(directory).map_err(|error| no_session(&error))?;
    let pid = recording.processes.first().map_or(Pid::new(0), |process| process.pid);
    let running = still_running(&recording);
    let sealed = seal(recording, &PathBuf::from(format!("heaplens.{pid}.hlr")), pid, directory)?;
    tell(&format!("heaplens: sealed {}", sealed.path.display()));
    tell(&match running {
        0 => format!("heaplens: {} is no longer needed and can be removed", directory.display()),
        count => format!("heaplens: {count} processes still write to {}", directory.display()),
    });
    Ok(sealed.decoded)
}

fn still_running(recording: &Recording) -> usize {
    recording.processes.iter().filter(|process| process.end == ProcessEnd::Running).count()
}

fn no_session(error: &CollectError) -> Failure {
    Failure::new(error)
        .hint("heaplens report takes a recording (heaplens.PID.hlr) or the directory that a killed recorder left behind")
}

/// The process is not there; the hint says which are.
pub(crate) fn no_such(error: &NoSuchProcess) -> Failure {
    const SHOWN: usize = 20;
    let mut known: Vec<String> = error.known.iter().take(SHOWN).map(Pid::to_string).collect();
    if error.known.len() > SHOWN {
        known.push("…".to_owned());
    }
    Failure::new(error).hint(format!("the recording has {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_gets_those_that_are() {
        let error = NoSuchProcess { pid: Pid::new(5), known: vec![Pid::new(7), Pid::new(9)] };
        assert_eq!(
            no_such(&error),
            Failure::new("process 5 was not recorded").hint("the recording has 7, 9")
        );
    }

    #[test]
    fn a_folder_that_is_no_session_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let failure = format!("{:?}", collected(folder.path()).unwrap_err());
        assert!(failure.contains("holds no arena"), "{failure}");
    }
}
