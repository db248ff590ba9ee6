//! Where the text and the XML are written: to stderr, to a file whose name may contain the process ID, or to a file descriptor
//! that Heaplens inherited.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use heaplens_format::Pid;

use crate::destination;
use crate::failure::Failure;
use crate::pattern::Pattern;

/// An output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    Stderr,
    Stdout,
    File(Pattern),
    /// An inherited file descriptor.
    Descriptor(u32),
}

impl Output {
    /// The file if one is given, else the descriptor. Checks that it can be written, before the program runs.
    pub(super) fn new(file: Option<&OsString>, descriptor: u32) -> Result<Self, Failure> {
        match (file, descriptor) {
            (Some(pattern), _) => Self::file(pattern),
            (None, 1) => Ok(Self::Stdout),
            (None, 2) => Ok(Self::Stderr),
            (None, other) => match Self::Descriptor(other).open() {
                Ok(_) => Ok(Self::Descriptor(other)),
                Err(error) => Err(Failure::new(format!("cannot write to file descriptor {other}: {error}"))),
            },
        }
    }

    fn file(pattern: &OsStr) -> Result<Self, Failure> {
        let pattern = Pattern::parse(pattern, |name| std::env::var_os(name))?;
        if !pattern.directory_has_pid() {
            destination::check(&pattern.expand(Pid::new(std::process::id())))?;
        }
        Ok(Self::File(pattern))
    }

    /// Writes the output for a process.
    pub(super) fn write(&self, process: Pid, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            // A closed stderr is ignored.
            Self::Stderr => {
                io::stderr().write_all(bytes).ok();
                Ok(())
            }
            Self::Stdout => crate::render::print(bytes),
            Self::File(pattern) => {
                let path = pattern.expand(process);
                destination::write(&path, bytes)
                    .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
            }
            Self::Descriptor(number) => {
                let written = self.open().and_then(|mut file| file.write_all(bytes));
                written.map_err(|error| {
                    Failure::new(format!("cannot write to file descriptor {number}: {error}"))
                })
            }
        }
    }

    /// Appends: the descriptor may have been written to before.
    fn open(&self) -> io::Result<std::fs::File> {
        let Self::Descriptor(number) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        OpenOptions::new().append(true).open(PathBuf::from(format!("/proc/self/fd/{number}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_precedence_over_a_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("log.%p").into_os_string();
        let output = Output::new(Some(&file), 1).unwrap();
        output.write(Pid::new(7), b"text").unwrap();
        assert_eq!(std::fs::read(directory.path().join("log.7")).unwrap(), b"text");
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_an_error() {
        assert_eq!(Output::new(None, 2), Ok(Output::Stderr));
        assert!(Output::new(None, 987_654).is_err());
    }
}
