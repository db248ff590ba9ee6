//! What becomes of a program that is run under Heaplens: the exit status that is passed on, and why it could not be run.

use std::path::Path;

use heaplens_format::recording::Exit;
use heaplens_record::{LookupError, RunError};

use crate::failure::{Failure, NOT_EXECUTABLE, NOT_FOUND};
use crate::recording::left_behind;

/// The status that a shell would give: 128 and the signal for a program that was killed.
pub(crate) fn status_of(exit: Exit) -> u8 {
    match exit {
        Exit::Code(code) => code as u8,
        Exit::Signal(signal) => 128u8.wrapping_add(signal as u8),
    }
}

/// The failure for a run that did not come about, with its way out.
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
