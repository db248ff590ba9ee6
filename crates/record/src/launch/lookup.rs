//! Finding the program that a word names, as a shell would. It starts nothing.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

/// Where `execvp` searches when `PATH` is not set (confstr `_CS_PATH`).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a word names no program that can run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// There is no such file.
    #[error("no such file")]
    NotFound,
    /// There is no such file in any folder of `PATH`.
    #[error("not found in PATH")]
    NotInPath,
    /// There is a file, but it cannot be executed.
    #[error("{} is not executable", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
    },
    /// The word names a directory.
    #[error("{} is a directory", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
}

/// The file that `program` names.
pub(crate) fn find(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, LookupError> {
    if program.as_bytes().contains(&b'/') {
        let program = PathBuf::from(program);
        return check(&program).map(|()| program);
    }
    if program.is_empty() {
        return Err(LookupError::NotFound);
    }
    find_in(program, path.unwrap_or(OsStr::new(DEFAULT_PATH)))
}

/// The first executable wins; a file that is not executable is reported if there is no other, as by `execvp`.
fn find_in(program: &OsStr, path: &OsStr) -> Result<PathBuf, LookupError> {
    let mut failure = LookupError::NotInPath;
    for folder in path.as_bytes().split(|&byte| byte == b':') {
        let folder = if folder.is_empty() { b"." } else { folder };
        let candidate = Path::new(OsStr::from_bytes(folder)).join(program);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error @ LookupError::NotExecutable { .. }) => failure = error,
            Err(_) => {}
        }
    }
    Err(failure)
}

/// The program that a word names, with the `PATH` of this process.
pub fn find_program(word: &OsStr) -> Result<PathBuf, LookupError> {
    find(word, std::env::var_os("PATH").as_deref())
}

fn check(candidate: &Path) -> Result<(), LookupError> {
    let path = || candidate.to_owned();
    match std::fs::metadata(candidate) {
        Ok(about) if about.is_dir() => Err(LookupError::Directory { path: path() }),
        Ok(_) if accessat(CWD, candidate, Access::EXEC_OK, AtFlags::EACCESS).is_ok() => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(LookupError::NotFound),
        _ => Err(LookupError::NotExecutable { path: path() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folder_with(name: &str, mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
        folder
    }

    fn path_of(folders: &[&tempfile::TempDir]) -> std::ffi::OsString {
        std::env::join_paths(folders.iter().map(|folder| folder.path())).unwrap()
    }

    #[test]
    fn the_first_executable_in_path_wins() {
        let (one, other) = (folder_with("tool", 0o755), folder_with("tool", 0o755));
        let found = find(OsStr::new("tool"), Some(&path_of(&[&one, &other]))).unwrap();
        assert_eq!(found, one.path().join("tool"));
    }

    #[test]
    fn a_plain_file_earlier_in_path_does_not_hide_an_executable() {
        let (plain, good) = (folder_with("tool", 0o644), folder_with("tool", 0o755));
        let found = find(OsStr::new("tool"), Some(&path_of(&[&plain, &good]))).unwrap();
        assert_eq!(found, good.path().join("tool"));
    }

    #[test]
    fn a_plain_file_alone_is_not_executable() {
        let plain = folder_with("tool", 0o644);
        let error = find(OsStr::new("tool"), Some(&path_of(&[&plain]))).unwrap_err();
        assert_eq!(error, LookupError::NotExecutable { path: plain.path().join("tool") });
    }

    #[test]
    fn a_word_that_nobody_knows_is_not_in_path() {
        let folder = folder_with("tool", 0o755);
        let found = find(OsStr::new("other"), Some(&path_of(&[&folder])));
        assert_eq!(found, Err(LookupError::NotInPath));
    }

    #[test]
    fn a_word_with_a_slash_is_not_searched_in_path() {
        let folder = folder_with("tool", 0o755);
        let found = find(OsStr::new("./tool-nobody-has"), Some(&path_of(&[&folder])));
        assert_eq!(found, Err(LookupError::NotFound));
    }

    #[test]
    fn a_directory_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let found = find(folder.path().as_os_str(), None);
        assert_eq!(found, Err(LookupError::Directory { path: folder.path().to_owned() }));
    }

    #[test]
    fn without_path_the_system_folders_are_searched() {
        assert!(find(OsStr::new("sh"), None).is_ok());
    }
}
