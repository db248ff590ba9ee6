//! The wake-up FIFO of a session: agents open and close it, which wakes the recorder at once. No data goes through it; requests
//! are in the arenas.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use heaplens_format::environment::WAKE_UP_FIFO;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// See the module.
#[derive(Debug)]
pub(crate) struct WakeUpFifo {
    path: PathBuf,
    reader: File,
}

impl WakeUpFifo {
    /// Creates it in a session's directory. Without one agents do not wait for us.
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        let path = directory.join(WAKE_UP_FIFO);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let reader = open(&path)?;
        Ok(Self { path, reader })
    }

    /// Becomes ready when an agent wakes us.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// An agent woke us. A FIFO whose writers are gone stays ready for ever: a new reader replaces this one.
    pub(crate) fn rearm(&mut self) {
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

    fn is_ready(fifo: &WakeUpFifo) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&fifo.as_fd(), PollFlags::IN)], Some(&now)).unwrap() > 0
    }

    fn wake(folder: &Path) -> io::Result<File> {
        File::options().write(true).custom_flags(libc::O_NONBLOCK).open(folder.join(WAKE_UP_FIFO))
    }

    #[test]
    fn an_open_and_a_close_wake_every_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut fifo = WakeUpFifo::create(folder.path()).unwrap();
        for _ in 0..3 {
            assert!(!is_ready(&fifo));
            drop(wake(folder.path()).unwrap());
            assert!(is_ready(&fifo));
            fifo.rearm();
        }
    }

    #[test]
    fn nobody_can_be_woken_when_nobody_listens() {
        let folder = tempfile::tempdir().unwrap();
        drop(WakeUpFifo::create(folder.path()).unwrap());
        assert_eq!(wake(folder.path()).unwrap_err().raw_os_error(), Some(libc::ENXIO));
    }
}
