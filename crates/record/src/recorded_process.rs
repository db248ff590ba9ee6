//! A process that is being recorded, seen from another command: requests for a reclaim test or a snapshot.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use heaplens_format::Pid;
use heaplens_format::arena::HeaderView;
use heaplens_format::arena::header::{HEADER_SIZE, TESTS_WANTED_OFFSET};
use heaplens_snapshot::Snapshot;

use crate::agent;
use crate::os::procfs;
use crate::snapshot::{self, Program, SnapshotError};
use crate::tracing::TIMEOUT_ASKED;

/// The sleep between two checks for an answer.
const SLEEP: Duration = Duration::from_millis(2);

/// Why a process cannot be asked anything.
#[derive(Debug, thiserror::Error)]
pub enum NotRecorded {
    /// There is none of this number.
    #[error("there is no process {0}")]
    NoProcess(Pid),
    /// It has no arena.
    #[error("process {0} is not being recorded, or belongs to another user")]
    NoArena(Pid),
}

/// Why there was no reclaim test.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Its arena cannot be written.
    #[error("cannot write to its arena: {0}")]
    Unreachable(#[from] io::Error),
    /// It exited.
    #[error("it exited before it answered")]
    Ended,
    /// No answer came in time.
    #[error(
        "no answer within {} s: it does not allocate memory, or the main thread of its interpreter is busy in native code",
        timeout.as_secs()
    )]
    Silent {
        /// The timeout.
        timeout: Duration,
    },
}

/// A process that is being recorded.
#[derive(Debug)]
pub struct RecordedProcess {
    pid: Pid,
    arena: PathBuf,
}

impl RecordedProcess {
    /// Finds the arena of a process.
    pub fn find(pid: Pid) -> Result<Self, NotRecorded> {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(NotRecorded::NoProcess(pid));
        }
        let arena = procfs::mapped_arena(pid).ok_or(NotRecorded::NoArena(pid))?;
        Ok(Self { pid, arena })
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The directory of the session that it is a part of.
    pub fn directory(&self) -> &Path {
        self.arena.parent().unwrap_or(Path::new("/"))
    }

    /// Takes a snapshot of its heap. The process goes on.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        let (arena, recorder) = (File::open(&self.arena)?, self.recorder());
        let (process, own_files) = (self.pid, self.own_files());
        let program = Program { process, recorder, own_files, inherited: None, arena: &arena };
        snapshot::copy(&program, TIMEOUT_ASKED)
    }

    /// The process that records it, after which the session's directory is called: `…/heaplens-PID-…`.
    fn recorder(&self) -> Pid {
        let name = self.directory().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.split('-').nth(1).and_then(|number| number.parse().ok());
        Pid::new(number.unwrap_or_default())
    }

    /// Names of Heaplens's own files in it.
    fn own_files(&self) -> Vec<String> {
        let agent = procfs::mapped_file(self.pid, agent::is_agent);
        let own = [Some(self.arena.as_path()), agent.as_deref()].into_iter().flatten();
        own.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect()
    }

    /// Requests a reclaim test, and waits until it is done. After a timeout the request is withdrawn.
    pub fn test(&self, timeout: Duration) -> Result<(), Unanswered> {
        let file = File::options().read(true).write(true).open(&self.arena)?;
        let wanted = words(&file)?.wanted.wrapping_add(1);
        want(&file, wanted)?;
        let start = Instant::now();
        while words(&file)?.made != wanted {
            if procfs::resident(self.pid).is_none() {
                return Err(Unanswered::Ended);
            }
            if start.elapsed() > timeout {
                want(&file, wanted.wrapping_sub(1))?;
                return Err(Unanswered::Silent { timeout });
            }
            std::thread::sleep(SLEEP);
        }
        Ok(())
    }
}

struct Words {
    wanted: u32,
    made: u32,
}

fn words(file: &File) -> io::Result<Words> {
    let mut bytes = vec![0; HEADER_SIZE];
    file.read_exact_at(&mut bytes, 0)?;
    let header = HeaderView::new(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Words { wanted: header.tests_wanted(), made: header.tests_made() })
}

fn want(file: &File, count: u32) -> io::Result<()> {
    file.write_all_at(&count.to_le_bytes(), TESTS_WANTED_OFFSET as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_an_agent_is_not_recorded() {
        let own = Pid::new(std::process::id());
        assert!(matches!(RecordedProcess::find(own), Err(NotRecorded::NoArena(pid)) if pid == own));
    }

    #[test]
    fn an_unused_pid_is_an_error() {
        let none = Pid::new(u32::MAX);
        assert!(matches!(RecordedProcess::find(none), Err(NotRecorded::NoProcess(pid)) if pid == none));
    }
}
