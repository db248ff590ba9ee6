//! Writes output files safely: checked before the program runs, written to a temporary file and renamed, and written to the
//! temporary directory if all else fails. An existing file is replaced as a whole or not at all. Recordings can be read by
//! their owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::failure::Failure;

/// The mode of recordings: they have names of files, functions, variables and keys of a program.
const PRIVATE: u32 = 0o600;
/// The mode of other files, less what the user's mask takes.
const PUBLIC: u32 = 0o666;

/// Checks that a file can be written later, and leaves no trace.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    probe(path).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", path.display()))
            .hint("use a file in an existing, writable directory; the program was not started")
    })
}

/// Writes the file, or leaves the existing one unchanged.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(PUBLIC, path, bytes)
}

/// The same; nobody but its owner can read the file.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(PRIVATE, path, bytes)
}

fn write_with(mode: u32, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match target(path) {
        Target::File(path) => replace(&path, mode, bytes),
        Target::Stream(path) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
    }
}

/// Writes to a new file in the temporary directory, which only its owner can read, and returns its path.
pub(crate) fn write_to_fallback(directory: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let names = std::iter::once(format!("{stem}.hlr")).chain((1..100).map(|n| format!("{stem}.{n}.hlr")));
    for path in names.map(|name| directory.join(name)) {
        match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// What a path refers to.
enum Target {
    /// A regular file, or none yet: replaced by renaming.
    File(PathBuf),
    /// A device, pipe or socket, such as /dev/null: renaming would replace it by a regular file.
    Stream(PathBuf),
}

/// Follows symbolic links, so that the target is replaced and not the link.
fn target(path: &Path) -> Target {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match std::fs::metadata(&path) {
        Ok(about) if !about.is_file() && !about.is_dir() => Target::Stream(path),
        _ => Target::File(path),
    }
}

fn probe(path: &Path) -> io::Result<()> {
    let Target::File(path) = target(path) else { return Ok(access(path, Access::WRITE_OK)?) };
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() {
        access(&path, Access::WRITE_OK)?;
    }
    let temporary = temporary_for(&path)?;
    File::create(&temporary)?;
    std::fs::remove_file(temporary)
}

fn replace(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_for(path)?;
    std::fs::remove_file(&temporary).ok(); // of a process that had this number before and was killed
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary);
    let written =
        file.and_then(|mut file| file.write_all(bytes)).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        std::fs::remove_file(&temporary).ok();
    }
    written
}

/// A name in the same directory, hence on the same file system, that no other process uses.
fn temporary_for(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_check_leaves_no_trace() {
        let directory = tempfile::tempdir().unwrap();
        check(&directory.path().join("a.hlr")).unwrap();
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_missing_directory_fails_the_check() {
        let directory = tempfile::tempdir().unwrap();
        assert!(check(&directory.path().join("missing/a.hlr")).is_err());
        assert!(check(directory.path()).is_err(), "a directory is not a file");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.hlr");
        write(&path, b"first, and longer").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(names(directory.path()), ["a.hlr"]);
    }

    #[test]
    fn a_private_file_is_its_owners_whatever_was_there_before() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.hlr");
        std::fs::write(&path, "for all").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        write_private(&path, b"for one").unwrap();
        let fallback = write_to_fallback(directory.path(), "b", b"for one").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&path), mode(&fallback)], [0o600; 2]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(link.is_symlink());
    }

    #[test]
    fn a_device_stays_a_device() {
        check(Path::new("/dev/null")).unwrap();
        write(Path::new("/dev/null"), b"bytes").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn the_fallback_does_not_overwrite_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("heaplens.7.hlr"), "mine").unwrap();
        let path = write_to_fallback(directory.path(), "heaplens.7", b"bytes").unwrap();
        assert_eq!(path, directory.path().join("heaplens.7.1.hlr"));
        assert_eq!(std::fs::read(directory.path().join("heaplens.7.hlr")).unwrap(), b"mine");
    }
}
