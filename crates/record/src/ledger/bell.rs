//! The bell of a session: a FIFO that agents open and close, which the recorder hears at once. Nothing goes through it; what
//! is wanted stands in the arenas.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use heaplens_format::environment::BELL;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// See the module.
#[derive(Debug)]
pub(crate) struct Bell {
    path: PathBuf,
    reader: File,
}

impl Bell {
    /// Hangs it up in a session's directory. Without one agents do not wait for us.
    pub(crate) fn hang(directory: &Path) -> io::Result<Self> {
        let path = directory.join(BELL);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let reader = open(&path)?;
        Ok(Self { path, reader })
    }

    /// Becomes ready when it was rung.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// It was rung. A FIFO whose writers are gone stays ready for good: another reader takes over, before this one goes.
    pub(crate) fn heard(&mut self) {
        if let Ok(reader) = open(&self.path) {
            self.reader = reader;
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_ready(bell: &Bell) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&bell.as_fd(), PollFlags::IN)], Some(&now)).unwrap() > 0
    }

    fn ring(folder: &Path) -> io::Result<File> {
        File::options().write(true).custom_flags(libc::O_NONBLOCK).open(folder.join(BELL))
    }

    #[test]
    fn an_open_and_a_close_are_heard_every_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut bell = Bell::hang(folder.path()).unwrap();
        for _ in 0..3 {
            assert!(!is_ready(&bell));
            drop(ring(folder.path()).unwrap());
            assert!(is_ready(&bell));
            bell.heard();
        }
    }

    #[test]
    fn nobody_can_ring_when_nobody_listens() {
        let folder = tempfile::tempdir().unwrap();
        drop(Bell::hang(folder.path()).unwrap());
        assert_eq!(ring(folder.path()).unwrap_err().raw_os_error(), Some(libc::ENXIO));
    }
}
