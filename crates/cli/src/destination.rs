//! Writing a file so that nothing of the user's is lost: checked before the program runs, written beside and renamed over,
//! and put into the temporary folder when all else fails.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::failure::Failure;

/// Asks whether a file could be written here later, and leaves no trace.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    probe(path).map_err(|error| {
        Failure::new(format!("cannot write {}: {error}", path.display())).hint(
            "name another file, in a folder that exists and that you can write; the program was not started",
        )
    })
}

/// Writes the whole file or leaves what was there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match target(path) {
        Target::File(path) => replace(&path, bytes),
        Target::Stream(path) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
    }
}

/// Writes into the temporary folder, over no file that is there, and says where.
pub(crate) fn write_aside(folder: &Path, stem: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let names = std::iter::once(format!("{stem}.hlr")).chain((1..100).map(|n| format!("{stem}.{n}.hlr")));
    for path in names.map(|name| folder.join(name)) {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// What a path leads to.
enum Target {
    /// A regular file, or none yet: it is renamed over.
    File(PathBuf),
    /// A device, pipe or socket, such as /dev/null: renaming would put a file in its place.
    Stream(PathBuf),
}

/// Follows links, so that the file behind a link is replaced and not the link.
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
    let draft = draft_of(&path)?;
    File::create(&draft)?;
    std::fs::remove_file(draft)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = draft_of(path)?;
    let written = std::fs::write(&draft, bytes).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        std::fs::remove_file(&draft).ok();
    }
    written
}

/// A name in the same folder, hence on the same file system, that no other process uses.
fn draft_of(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(draft))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_check_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("a.hlr")).unwrap();
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_that_is_not_there_fails_the_check() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check(&folder.path().join("missing/a.hlr")).is_err());
        assert!(check(folder.path()).is_err(), "a folder is no file");
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.hlr");
        write(&path, b"first, and longer").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["a.hlr"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
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
    fn writing_aside_spares_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("heaplens.7.hlr"), "mine").unwrap();
        let path = write_aside(folder.path(), "heaplens.7", b"bytes").unwrap();
        assert_eq!(path, folder.path().join("heaplens.7.1.hlr"));
        assert_eq!(std::fs::read(folder.path().join("heaplens.7.hlr")).unwrap(), b"mine");
    }
}
