//! Writes output files safely: checked before the program runs, written to a temporary file and renamed, and written to the
//! temporary directory if all else fails. An existing file is replaced as a whole or not at all. Recordings can be read by
//! their owner only.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags, access, fcntl_getfl, fcntl_setfl};
use rustix::process::geteuid;

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
    match target(path)? {
        Target::File(path) => replace(&path, mode, bytes),
        Target::Stream(path) => open_stream(&path)?.write_all(bytes),
    }
}

/// A pipe that nobody reads is an error, and not waited for.
fn open_stream(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
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
fn target(path: &Path) -> io::Result<Target> {
    if is_planted(path) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is a link of another user in a directory where everybody may make one",
        ));
    }
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Ok(match std::fs::metadata(&path) {
        Ok(about) if !about.is_file() && !about.is_dir() => Target::Stream(path),
        _ => Target::File(path),
    })
}

/// Whether a path is a link that somebody else may have made to have another file replaced, as `fs.protected_symlinks` of proc(5) defines it: we
/// read links ourselves, which the kernel does not check.
fn is_planted(path: &Path) -> bool {
    let sticky_for_all = (Mode::SVTX | Mode::WOTH).bits();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(link), Ok(directory)) = (std::fs::symlink_metadata(path), std::fs::metadata(parent)) else {
        return false;
    };
    let is_for_all = directory.mode() & sticky_for_all == sticky_for_all;
    let is_strange = link.uid() != geteuid().as_raw() && link.uid() != directory.uid();
    link.is_symlink() && is_for_all && is_strange
}

fn probe(path: &Path) -> io::Result<()> {
    let Target::File(path) = target(path)? else { return Ok(access(path, Access::WRITE_OK)?) };
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() {
        access(&path, Access::WRITE_OK)?;
    }
    let temporary = temporary_for(&path)?;
    create(&temporary, PRIVATE)?;
    std::fs::remove_file(temporary)
}

fn replace(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_for(path)?;
    let written = create(&temporary, mode)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        std::fs::remove_file(&temporary).ok();
    }
    written
}

/// A new file, whatever had its name: a process that had this number before and was killed.
fn create(path: &Path, mode: u32) -> io::Result<File> {
    std::fs::remove_file(path).ok();
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
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
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

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
    fn a_link_that_another_user_planted_is_refused() {
        if !geteuid().is_root() {
            return; // nobody else can make a link in another's name
        }
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65534), None).unwrap();
        let allow = |mode: u32| std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(mode));
        allow(0o1777).unwrap();
        assert!(check(&link).is_err() && write_private(&link, b"new").is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        allow(0o755).unwrap();
        write(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert!(write(&pipe, b"lost").is_err());
        let mut reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap(); // waits for no writer
        let large = vec![7; 1 << 20];
        let writer = std::thread::spawn({
            let large = large.clone();
            move || write(&pipe, &large)
        });
        let mut read = vec![0; large.len()];
        reader.read_exact(&mut read).unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(read, large, "it is written as a whole, however little fits into a pipe");
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
