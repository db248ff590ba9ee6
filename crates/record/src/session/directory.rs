//! The directory of a session, where every process of the tree puts its arena. It never reads an arena, and it removes the
//! directory only on request: when the recorder fails, the directory is all that is left of a run.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use heaplens_format::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};

/// A tmpfs with less free space than this is not used: a container's default is 64 MiB, and when it is full no arena can
/// grow.
const ENOUGH_MEMORY: Bytes = Bytes::new(512 << 20);

const MEMORY: &str = "/dev/shm";

/// A directory that belongs to one run.
#[derive(Debug)]
#[must_use = "the directory stays until it is removed"]
pub struct Session {
    path: PathBuf,
}

/// No directory could be created for the arenas.
#[derive(Debug, thiserror::Error)]
#[error("cannot create a session directory in {}: {source}", parent.display())]
pub struct SessionError {
    /// The parent that was tried last.
    pub parent: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl Session {
    /// Makes a directory that only this user can enter, in memory where there is enough.
    pub(crate) fn create(temporary: Option<OsString>) -> Result<Self, SessionError> {
        let mut failure = None;
        for parent in ranked(&measured(temporary)) {
            match create_in(&parent) {
                Ok(session) => return Ok(session),
                Err(source) => failure = Some(SessionError { parent, source }),
            }
        }
        let missing = || SessionError { parent: "/tmp".into(), source: io::ErrorKind::NotFound.into() };
        Err(failure.unwrap_or_else(missing))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with all arenas. A process that still runs keeps the arena that it has mapped.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.path)
    }
}

/// A directory in which a session may be made.
#[derive(Clone, Debug)]
struct CandidateDirectory {
    path: PathBuf,
    free: Bytes,
}

fn measured(temporary: Option<OsString>) -> Vec<CandidateDirectory> {
    let temporary = temporary.map(PathBuf::from).filter(|path| path.is_absolute());
    let paths = [Some(PathBuf::from(MEMORY)), temporary, Some(PathBuf::from("/tmp"))];
    paths.into_iter().flatten().filter_map(measure).collect()
}

fn measure(path: PathBuf) -> Option<CandidateDirectory> {
    let space = rustix::fs::statvfs(&path).ok()?;
    let free = Bytes::new(space.f_bavail.saturating_mul(space.f_frsize));
    Some(CandidateDirectory { path, free })
}

/// Memory first where it has enough, then by free space; memory that has not enough comes last.
fn ranked(directories: &[CandidateDirectory]) -> Vec<PathBuf> {
    let in_memory = |directory: &CandidateDirectory| directory.path == Path::new(MEMORY);
    let rank = |directory: &CandidateDirectory| match in_memory(directory) {
        true if directory.free >= ENOUGH_MEMORY => 0,
        true => 2,
        false => 1,
    };
    let mut directories = directories.to_vec();
    directories.sort_by_key(|directory| (rank(directory), std::cmp::Reverse(directory.free)));
    directories.into_iter().map(|directory| directory.path).collect()
}

fn create_in(parent: &Path) -> io::Result<Session> {
    let mut random = [0u8; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let name = format!("heaplens-{}-{:016x}", std::process::id(), u64::from_le_bytes(random));
    let path = parent.join(name);
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(Session { path })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn directory(path: &str, mebibytes: u64) -> CandidateDirectory {
        CandidateDirectory { path: path.into(), free: Bytes::new(mebibytes << 20) }
    }

    fn first(directories: &[CandidateDirectory]) -> PathBuf {
        ranked(directories).remove(0)
    }

    #[test]
    fn memory_is_taken_while_it_has_512_mebibytes() {
        assert_eq!(first(&[directory("/tmp", 90_000), directory(MEMORY, 512)]), Path::new(MEMORY));
    }

    #[test]
    fn scarce_memory_gives_way_to_the_roomiest_disk() {
        let directories = [directory(MEMORY, 64), directory("/scratch", 100), directory("/tmp", 900)];
        assert_eq!(ranked(&directories), [Path::new("/tmp"), Path::new("/scratch"), Path::new(MEMORY)]);
    }

    #[test]
    fn a_session_is_private_and_goes_when_removed() {
        let folder = tempfile::tempdir().unwrap();
        let session = create_in(folder.path()).unwrap();
        let mode = std::fs::metadata(session.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(session.path().join("1.0.arena"), b"x").unwrap();
        session.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_sessions_of_one_process_have_different_directories() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (create_in(folder.path()).unwrap(), create_in(folder.path()).unwrap());
        assert_ne!(one.path(), other.path());
    }

    #[test]
    fn a_relative_temporary_directory_is_not_used() {
        let directories = measured(Some("relative".into()));
        assert!(directories.iter().all(|directory| directory.path.is_absolute()));
    }
}
