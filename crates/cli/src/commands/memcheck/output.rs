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

    /// Whether every process has an output of its own.
    pub(super) fn is_per_process(&self) -> bool {
        matches!(self, Self::File(pattern) if pattern.has_pid())
    }

    /// Writes the output of a process beside the first one: to a file of its own, with its number at the end where the name has no `%p`.
    pub(super) fn write_beside(&self, process: Pid, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::File(pattern) if !pattern.has_pid() => {
                let mut path = pattern.expand(process).into_os_string();
                path.push(format!(".{process}"));
                write_file(path.into(), bytes)
            }
            _ => self.write(process, bytes),
        }
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
            Self::File(pattern) => write_file(pattern.expand(process), bytes),
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

fn write_file(path: PathBuf, bytes: &[u8]) -> Result<(), Failure> {
    destination::write(&path, bytes)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
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
    fn every_process_has_a_file_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["one.xml", "each.%p.xml"] {
            let output = Output::new(Some(&directory.path().join(name).into_os_string()), 2).unwrap();
            output.write(Pid::new(7), b"first").unwrap();
            output.write_beside(Pid::new(8), b"second").unwrap();
        }
        let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!([text("one.xml"), text("one.xml.8")], ["first", "second"]);
        assert_eq!([text("each.7.xml"), text("each.8.xml")], ["first", "second"]);
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_an_error() {
        assert_eq!(Output::new(None, 2), Ok(Output::Stderr));
        assert!(Output::new(None, 987_654).is_err());
    }
}
