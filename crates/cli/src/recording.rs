//! Recordings as files: sealing one where the user wants it, reading one back.

use std::path::{Path, PathBuf};

use heaplens_analyze::diff::NoSuchMoment;
use heaplens_analyze::suppressions::{self, Names};
use heaplens_analyze::{NoSuchProcess, Profile};
use heaplens_format::Pid;
use heaplens_format::recording::{DecodeError, Decoded, Recording, decode, encode};

use crate::destination;
use crate::failure::{Failure, tell};

/// Marks that a hint names.
const NAMED: usize = 12;

/// Where a recording is now, and what it says.
pub(crate) struct Sealed {
    /// The file.
    pub(crate) path: PathBuf,
    /// What was written.
    pub(crate) decoded: Decoded,
}

/// Names the frames of a recording and writes it to `path`, or to the temporary folder when that fails. `directory` is what
/// is left of the run until then.
pub(crate) fn seal(
    mut recording: Recording,
    path: &Path,
    pid: Pid,
    directory: &Path,
) -> Result<Sealed, Failure> {
    heaplens_analyze::resolve_symbols(&mut recording);
    heaplens_analyze::settle_loop_lines(&mut recording);
    let bytes = encode(&recording);
    let path = match destination::write(path, &bytes) {
        Ok(()) => path.to_owned(),
        Err(error) => {
            tell(&format!("warning: cannot write {}: {error}", path.display()));
            write_aside(&bytes, pid, directory)?
        }
    };
    Ok(Sealed { path, decoded: Decoded { recording, damage: Vec::new() } })
}

fn write_aside(bytes: &[u8], pid: Pid, directory: &Path) -> Result<PathBuf, Failure> {
    let folder = std::env::temp_dir();
    destination::write_aside(&folder, &format!("heaplens.{pid}"), bytes).map_err(|error| {
        Failure::new(format!("the recording cannot be written to {} either: {error}", folder.display()))
            .hint(left_behind(directory))
    })
}

/// The way back to a run that was not sealed.
pub(crate) fn left_behind(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "nothing is lost: heaplens report {directory} seals what is there (remove {directory} afterwards)"
    )
}

/// Reads a recording; damage inside it is no failure.
pub(crate) fn read(path: &Path) -> Result<Decoded, Failure> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    decode(&bytes).map_err(|error| foreign(path, error))
}

/// What a recording says of a process, without the blocks of libraries that are known to look lost.
pub(crate) fn profiled(decoded: &Decoded, pid: Option<Pid>) -> Result<Profile, NoSuchProcess> {
    let mut profile = heaplens_analyze::profile(decoded, pid)?;
    leave_out_known_leaks(&mut profile);
    Ok(profile)
}

/// See [`profiled`].
pub(crate) fn leave_out_known_leaks(profile: &mut Profile) {
    profile.suppress(&suppressions::built_in(), &Names::default());
}

/// The process is not there; the hint says which are.
pub(crate) fn no_such_process(error: &NoSuchProcess) -> Failure {
    const SHOWN: usize = 20;
    let mut known: Vec<String> = error.known.iter().take(SHOWN).map(Pid::to_string).collect();
    if error.known.len() > SHOWN {
        known.push("…".to_owned());
    }
    Failure::new(error).hint(format!("the recording has {}", known.join(", ")))
}

/// The moment is not there; the hint says which are.
pub(crate) fn no_such_moment(error: &NoSuchMoment) -> Failure {
    match error {
        NoSuchMoment::Process(error) => no_such_process(error),
        NoSuchMoment::Label { known, .. } if known.is_empty() => {
            Failure::new(error).hint("the recording has no marks; start, end and pass:N are moments, too")
        }
        NoSuchMoment::Label { known, .. } => {
            let mut names: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
            names.extend((known.len() > NAMED).then_some("…"));
            Failure::new(error).hint(format!(
                "the recording has {}; start, end and pass:N are moments, too",
                names.join(", ")
            ))
        }
        NoSuchMoment::Pass { .. } | NoSuchMoment::NoLoop => {
            Failure::new(error).hint("start, end and the marks of the program are moments, too")
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("cannot read {}: {error}", path.display()));
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            failure.hint("heaplens run -- PROGRAM makes a recording, heaplens.PID.hlr")
        }
        _ => failure.hint("a recording is a file that you must be able to read"),
    }
}

fn foreign(path: &Path, error: DecodeError) -> Failure {
    let failure = Failure::new(format!("cannot read {}: {error}", path.display()));
    match error {
        DecodeError::NewerVersion { .. } => {
            failure.hint("the recording was written by a newer heaplens: upgrade, or record again")
        }
        DecodeError::Empty | DecodeError::NotARecording => {
            failure.hint("heaplens report reads what heaplens run has sealed (heaplens.PID.hlr)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed_in(folder: &Path, path: &Path) -> Sealed {
        seal(Recording::default(), path, Pid::new(7), folder).unwrap()
    }

    #[test]
    fn what_is_sealed_can_be_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hlr");
        let sealed = sealed_in(folder.path(), &path);
        assert_eq!(sealed.path, path);
        assert_eq!(read(&path).unwrap().recording, sealed.decoded.recording);
    }

    #[test]
    fn a_place_that_vanished_meanwhile_costs_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let sealed = sealed_in(folder.path(), &folder.path().join("gone/a.hlr"));
        assert!(read(&sealed.path).is_ok());
        std::fs::remove_file(sealed.path).unwrap();
    }

    #[test]
    fn a_foreign_file_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "buy milk, and a longer text than any header of a file").unwrap();
        let failure = format!("{:?}", read(&path).unwrap_err());
        assert!(failure.contains("notes.txt: it is not a Heaplens recording"), "{failure}");
    }

    #[test]
    fn a_process_that_is_not_there_gets_those_that_are() {
        let error = NoSuchProcess { pid: Pid::new(5), known: vec![Pid::new(7), Pid::new(9)] };
        assert_eq!(
            no_such_process(&error),
            Failure::new("process 5 was not recorded").hint("the recording has 7, 9")
        );
    }
}
