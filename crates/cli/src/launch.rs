//! The outcome of running a program under Heaplens: its exit status, and errors for programs that could not be run.

use std::path::Path;

use heaplens_format::environment::{LEAK_CHECK_END, LEAK_CHECK_START};
use heaplens_format::recording::Exit;
use heaplens_record::{LeakCheckMarks, LookupError, RunError};

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::recording::recovery_hint;

/// The exit status as a shell reports it: 128 plus the signal number for a program that was killed.
pub(crate) fn status_of(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code as u8,
        Exit::Signal(signal) => 128u8.wrapping_add(signal as u8),
    }
}

/// The marks between which leaks are checked, where the user gives any. A label is compared as the agent keeps it.
pub(crate) fn leak_check_marks(
    from: Option<String>,
    to: Option<String>,
) -> Result<Option<LeakCheckMarks>, Failure> {
    let Some(from) = from else { return Ok(None) };
    let to = to.unwrap_or_else(|| LEAK_CHECK_END.to_owned());
    if from.is_empty() || to.is_empty() {
        return Err(Failure::new("--leak-check-from and --to require the label of a mark, start or end"));
    }
    if from == LEAK_CHECK_END || to == LEAK_CHECK_START {
        return Err(Failure::new("--leak-check-from cannot be the end of the program, nor --to its start"));
    }
    Ok(Some(LeakCheckMarks { from, to }))
}

/// The failure for a run that failed, with a hint.
pub(crate) fn explain(error: RunError) -> Failure {
    let failure = Failure::new(&error);
    match error {
        RunError::Program { program, source } => explain_program(failure, &program, &source),
        RunError::Start { source, .. } => explain_start(failure, &source),
        RunError::Agent(_) => failure
            .hint("use a directory that is not mounted noexec: XDG_CACHE_HOME=/a/directory heaplens run …"),
        RunError::Session(_) => {
            failure.hint("use a directory with free space: TMPDIR=/a/directory heaplens run …")
        }
        RunError::Lost { session: Some(directory), .. } => failure.hint(recovery_hint(&directory)),
        RunError::Lost { session: None, .. } | RunError::Unready(_) | RunError::NoCommand => failure,
    }
}

fn explain_program(failure: Failure, program: &Path, why: &LookupError) -> Failure {
    match why {
        LookupError::NotInPath if program.exists() => failure
            .hint(format!("to run the one in this directory: heaplens run -- ./{}", program.display()))
            .status(NOT_FOUND),
        LookupError::NotInPath | LookupError::NotFound => failure
            .hint("check the spelling; the program is looked up in PATH as in a shell")
            .status(NOT_FOUND),
        LookupError::NotExecutable { path } => {
            failure.hint(format!("to make it executable: chmod +x {}", path.display())).status(NOT_EXECUTABLE)
        }
        LookupError::Directory { .. } => {
            failure.hint("give the path of a program, not of a directory").status(NOT_EXECUTABLE)
        }
    }
}

fn explain_start(failure: Failure, why: &std::io::Error) -> Failure {
    match why.kind() {
        std::io::ErrorKind::NotFound => {
            failure.hint("the file exists, but its interpreter does not").status(NOT_FOUND)
        }
        _ => failure.status(NOT_EXECUTABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses_are_those_of_a_shell() {
        assert_eq!(status_of(Exit::Code(3)), 3);
        assert_eq!(status_of(Exit::Signal(9)), 137);
        assert_eq!(status_of(Exit::Signal(15)), 143);
    }

    #[test]
    fn a_missing_program_is_127_and_one_that_cannot_run_126() {
        let not_found = |source| explain(RunError::Program { program: "x".into(), source });
        let shown = |failure: Failure| format!("{failure:?}");
        assert!(shown(not_found(LookupError::NotInPath)).contains("status: 127"));
        assert!(shown(not_found(LookupError::NotExecutable { path: "x".into() })).contains("status: 126"));
        let start = |kind: std::io::ErrorKind| RunError::Start { program: "x".into(), source: kind.into() };
        assert!(shown(explain(start(std::io::ErrorKind::NotFound))).contains("status: 127"));
        assert!(shown(explain(start(std::io::ErrorKind::PermissionDenied))).contains("status: 126"));
    }

    #[test]
    fn a_run_that_was_lost_names_its_session_directory() {
        let source = std::io::ErrorKind::Other.into();
        let failure = explain(RunError::Lost { session: Some("/dev/shm/heaplens-1-2".into()), source });
        assert!(format!("{failure:?}").contains("heaplens report /dev/shm/heaplens-1-2"));
    }
}
