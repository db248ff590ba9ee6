//! Where the page and the XML go: to stderr, to a file whose name may hold the process id, or to a descriptor that whoever
//! started Heaplens has opened.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use heaplens_format::Pid;

use crate::destination;
use crate::failure::Failure;
use crate::pattern::Pattern;

/// A place to write to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    Stderr,
    Stdout,
    File(Pattern),
    /// Another descriptor of this process.
    Descriptor(u32),
}

impl Output {
    /// A file where one is named, else a descriptor. What cannot be written to is found out before the program runs.
    pub(super) fn new(file: Option<&OsString>, descriptor: u32) -> Result<Self, Failure> {
        match (file, descriptor) {
            (Some(typed), _) => Self::file(typed),
            (None, 1) => Ok(Self::Stdout),
            (None, 2) => Ok(Self::Stderr),
            (None, other) => match Self::Descriptor(other).open() {
                Ok(_) => Ok(Self::Descriptor(other)),
                Err(error) => Err(Failure::new(format!("cannot write to descriptor {other}: {error}"))),
            },
        }
    }

    fn file(typed: &OsStr) -> Result<Self, Failure> {
        let pattern = Pattern::parse(typed, |name| std::env::var_os(name))?;
        if !pattern.folder_is_open() {
            destination::check(&pattern.expand(Pid::new(std::process::id())))?;
        }
        Ok(Self::File(pattern))
    }

    /// Writes all of it; the process is the one that was looked at.
    pub(super) fn write(&self, process: Pid, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            // A closed stderr is nobody's error.
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
                written.map_err(|error| Failure::new(format!("cannot write to descriptor {number}: {error}")))
            }
        }
    }

    /// Behind what is there: the descriptor may have been written to before.
    fn open(&self) -> io::Result<std::fs::File> {
        let Self::Descriptor(number) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        OpenOptions::new().append(true).open(PathBuf::from(format!("/proc/self/fd/{number}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_before_a_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.%p").into_os_string();
        let output = Output::new(Some(&file), 1).unwrap();
        output.write(Pid::new(7), b"page").unwrap();
        assert_eq!(std::fs::read(folder.path().join("log.7")).unwrap(), b"page");
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_an_error() {
        assert_eq!(Output::new(None, 2), Ok(Output::Stderr));
        assert!(Output::new(None, 987_654).is_err());
    }
}
