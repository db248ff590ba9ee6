//! Recordings as files: writing one, reading one back, and the failures for processes and points in time that it does not have.

use std::path::{Path, PathBuf};

use heaplens_analyze::diagnose::Floor;
use heaplens_analyze::diff::NoSuchMoment;
use heaplens_analyze::suppressions::{self, Names};
use heaplens_analyze::{NoSuchProcess, Profile, SymbolCache};
use heaplens_format::Pid;
use heaplens_format::recording::{DecodeError, Decoded, Recording, decode, encode};

use crate::destination;
use crate::failure::{Failure, eprint};

/// Marks listed in a hint.
const LISTED_MARKS: usize = 12;
/// Processes listed in a hint.
const LISTED_PROCESSES: usize = 20;

/// A recording that was written.
pub(crate) struct Sealed {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its contents.
    pub(crate) decoded: Decoded,
}

/// Resolves the symbols of a recording and writes it to `path`, or to the temporary directory if that fails. `directory` is the
/// session directory, from which the recording can be recovered.
pub(crate) fn seal(
    mut recording: Recording,
    path: &Path,
    pid: Pid,
    directory: &Path,
) -> Result<Sealed, Failure> {
    resolve_symbols(&mut recording);
    heaplens_analyze::settle_loop_lines(&mut recording);
    let bytes = encode(&recording);
    let path = match destination::write_private(path, &bytes) {
        Ok(()) => path.to_owned(),
        Err(error) => {
            eprint(&format!("warning: cannot write {}: {error}", path.display()));
            write_to_fallback(&bytes, pid, directory)?
        }
    };
    Ok(Sealed { path, decoded: Decoded { recording, damage: Vec::new() } })
}

/// Names the frames of a recording, with the help of the user's cache.
pub(crate) fn resolve_symbols(recording: &mut Recording) {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = cache.filter(|folder| folder.is_absolute()).map(|folder| folder.join("heaplens/symbols"));
    heaplens_analyze::resolve_symbols(recording, &cache.map(SymbolCache::in_folder).unwrap_or_default());
}

fn write_to_fallback(bytes: &[u8], pid: Pid, directory: &Path) -> Result<PathBuf, Failure> {
    let temporary = std::env::temp_dir();
    destination::write_to_fallback(&temporary, &format!("heaplens.{pid}"), bytes).map_err(|error| {
        Failure::new(format!("cannot write the recording to {} either: {error}", temporary.display()))
            .hint(recovery_hint(directory))
    })
}

/// How to recover a run whose recording was not written.
pub(crate) fn recovery_hint(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "no data is lost: heaplens report {directory} recovers the recording (remove {directory} afterwards)"
    )
}

/// Reads a recording. A damaged one is read as far as possible.
pub(crate) fn read(path: &Path) -> Result<Decoded, Failure> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    decode(&bytes).map_err(|error| undecodable(path, error))
}

/// The profile of a process, with the built-in suppressions and the floor applied.
pub(crate) fn profile_of(
    decoded: &Decoded,
    pid: Option<Pid>,
    floor: Floor,
) -> Result<Profile, NoSuchProcess> {
    let mut profile = heaplens_analyze::profile(decoded, pid)?;
    suppress_known_leaks(&mut profile);
    profile.apply_floor(floor);
    Ok(profile)
}

/// See [`profile_of`].
pub(crate) fn suppress_known_leaks(profile: &mut Profile) {
    profile.suppress(&suppressions::built_in(), &Names::default());
}

/// The process was not recorded; the hint lists those that were.
pub(crate) fn no_such_process(error: &NoSuchProcess) -> Failure {
    let mut known: Vec<String> = error.known.iter().take(LISTED_PROCESSES).map(Pid::to_string).collect();
    if error.known.len() > LISTED_PROCESSES {
        known.push("…".to_owned());
    }
    Failure::new(error).hint(format!("recorded processes: {}", known.join(", ")))
}

/// The recording has no such point in time; the hint lists those it has.
pub(crate) fn no_such_moment(error: &NoSuchMoment) -> Failure {
    match error {
        NoSuchMoment::Process(error) => no_such_process(error),
        NoSuchMoment::Label { known, .. } if known.is_empty() => {
            Failure::new(error).hint("the recording has no marks; start, end and pass:N can also be used")
        }
        NoSuchMoment::Label { known, .. } => {
            let mut names: Vec<&str> = known.iter().take(LISTED_MARKS).map(String::as_str).collect();
            names.extend((known.len() > LISTED_MARKS).then_some("…"));
            Failure::new(error)
                .hint(format!("marks: {}; start, end and pass:N can also be used", names.join(", ")))
        }
        NoSuchMoment::Iteration { .. } | NoSuchMoment::NoLoop => {
            Failure::new(error).hint("start, end and labels of marks can also be used")
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("cannot read {}: {error}", path.display()));
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            failure.hint("heaplens run -- PROGRAM writes a recording, heaplens.PID.hlr")
        }
        _ => failure.hint("check the permissions of the file"),
    }
}

fn undecodable(path: &Path, error: DecodeError) -> Failure {
    let failure = Failure::new(format!("cannot read {}: {error}", path.display()));
    match error {
        DecodeError::NewerVersion { .. } => {
            failure.hint("the recording was written by a newer version of heaplens; upgrade, or record again")
        }
        DecodeError::Empty | DecodeError::NotARecording => {
            failure.hint("a recording is a file written by heaplens run (heaplens.PID.hlr)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed_in(directory: &Path, path: &Path) -> Sealed {
        seal(Recording::default(), path, Pid::new(7), directory).unwrap()
    }

    #[test]
    fn a_written_recording_can_be_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.hlr");
        let sealed = sealed_in(directory.path(), &path);
        assert_eq!(sealed.path, path);
        assert_eq!(read(&path).unwrap().recording, sealed.decoded.recording);
    }

    #[test]
    fn a_directory_that_vanished_does_not_lose_the_recording() {
        let directory = tempfile::tempdir().unwrap();
        let sealed = sealed_in(directory.path(), &directory.path().join("gone/a.hlr"));
        assert!(read(&sealed.path).is_ok());
        std::fs::remove_file(sealed.path).unwrap();
    }

    #[test]
    fn a_file_of_another_format_is_rejected_with_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "buy milk, and a longer text than any header of a file").unwrap();
        let failure = format!("{:?}", read(&path).unwrap_err());
        assert!(failure.contains("notes.txt: it is not a Heaplens recording"), "{failure}");
    }

    #[test]
    fn a_process_that_was_not_recorded_gets_the_recorded_ones_as_a_hint() {
        let error = NoSuchProcess { pid: Pid::new(5), known: vec![Pid::new(7), Pid::new(9)] };
        assert_eq!(
            no_such_process(&error),
            Failure::new("process 5 was not recorded").hint("recorded processes: 7, 9")
        );
    }
}
