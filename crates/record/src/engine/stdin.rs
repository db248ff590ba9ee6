//! Standard input of a second run. A file can be read again from where the first run began; what came through a pipe or from a
//! terminal is gone.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::process::Stdio;

use rustix::fs::{SeekFrom as From, seek};

/// What a second run reads from.
#[derive(Debug)]
pub struct SecondInput(Option<File>);

impl SecondInput {
    /// Notes what standard input is, before the first run reads from it.
    pub fn note() -> Self {
        Self(reopened(std::io::stdin().as_fd()))
    }

    /// Whether the second run reads what the first one read.
    pub fn is_same(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn stdio(&self) -> Stdio {
        self.0.as_ref().and_then(|file| file.try_clone().ok()).map_or_else(Stdio::null, Stdio::from)
    }
}

/// The same file with a position of its own.
fn reopened(input: impl AsFd) -> Option<File> {
    let input = input.as_fd();
    let position = seek(input, From::Current(0)).ok()?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&input));
    let mut file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file()))?;
    file.seek(SeekFrom::Start(position)).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_file_is_read_again_from_where_the_first_run_began() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one two").unwrap();
        file.seek(SeekFrom::Start(4)).unwrap();
        let mut second = reopened(&file).expect("a file");
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "two", "the first run");
        text.clear();
        second.read_to_string(&mut text).unwrap();
        assert_eq!(text, "two", "the second run");
    }

    #[test]
    fn a_pipe_is_not_read_again() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(reopened(&reader).is_none());
    }
}
