//! The agent as a file that the dynamic linker can load: written once per version, named by its content, never trusted
//! without comparing every byte. It knows nothing of what the agent does. When files are removed is decided in `cache`.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use super::cache;
use super::name::{draft_of, file_name};

/// The agent cannot be written to any directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the agent library to any directory: {}", list(tried))]
pub struct NoDirectoryForAgent {
    /// Each folder that was tried, with the reason against it.
    pub tried: Vec<(PathBuf, String)>,
}

/// An agent that can be loaded. No recorder removes the file as long as this lives.
#[derive(Debug)]
pub struct AgentFile {
    path: PathBuf,
    _in_use: File,
}

impl AgentFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file for ever, for programs that preload it without a recorder.
    pub fn keep(&self) {
        // Where nothing can be written, nothing is removed.
        cache::keep(&self.path).ok();
    }
}

/// The environment variables that name directories for the agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders {
    /// `$XDG_CACHE_HOME`.
    pub(crate) cache: Option<OsString>,
    /// `$HOME`.
    pub(crate) home: Option<OsString>,
    /// `$TMPDIR`.
    pub(crate) temporary: Option<OsString>,
}

impl Folders {
    /// The user's own cache first: shared folders are often mounted noexec. Root's programs change their user, who cannot
    /// enter root's home, and the dynamic linker would print errors: for root the folders that all can enter come first.
    pub(crate) fn candidates(&self) -> Vec<PathBuf> {
        self.candidates_of(rustix::process::getuid())
    }

    fn candidates_of(&self, user: rustix::process::Uid) -> Vec<PathBuf> {
        let shared = format!("heaplens-{}", user.as_raw());
        let path = |variable: &Option<OsString>| variable.as_ref().map(PathBuf::from);
        let mut all = [
            path(&self.cache).map(|folder| folder.join("heaplens")),
            path(&self.home).map(|folder| folder.join(".cache/heaplens")),
            path(&self.temporary).map(|folder| folder.join(&shared)),
            Some(Path::new("/tmp").join(&shared)),
            Some(Path::new("/var/tmp").join(&shared)),
        ];
        if user.is_root() {
            all.rotate_left(3);
        }
        all.into_iter().flatten().collect()
    }
}

/// A file with exactly these bytes, in the first folder that can hold it. Files there that nobody uses any more are removed.
pub(crate) fn install(agent: &[u8], folders: &[PathBuf]) -> Result<AgentFile, NoDirectoryForAgent> {
    let mut tried = Vec::new();
    for folder in folders {
        match install_in(agent, folder) {
            Ok(file) => {
                cache::prune(folder);
                return Ok(file);
            }
            Err(reason) => tried.push((folder.clone(), reason)),
        }
    }
    Err(NoDirectoryForAgent { tried })
}

fn install_in(agent: &[u8], folder: &Path) -> Result<AgentFile, String> {
    check_name(folder)?;
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|error| error.to_string())?;
    check_folder(folder)?;
    let path = folder.join(file_name(agent));
    if let Some(found) = find(agent, &path) {
        return Ok(found);
    }
    write_whole(agent, &path).map_err(|error| error.to_string())?;
    find(agent, &path).ok_or_else(|| "the file that was written there has other contents".into())
}

/// The file, if it is there and has these bytes.
fn find(agent: &[u8], path: &Path) -> Option<AgentFile> {
    let mut file = cache::open_for_use(path)?;
    let mut found = Vec::with_capacity(agent.len());
    file.read_to_end(&mut found).ok()?;
    (found == agent).then(|| AgentFile { path: path.to_owned(), _in_use: file })
}

/// `LD_PRELOAD` is split at colons and blanks, and `$` begins a name that the linker expands: none of them can be quoted.
fn check_name(folder: &Path) -> Result<(), String> {
    let splits = |&byte: &u8| byte == b':' || byte == b'$' || byte.is_ascii_whitespace();
    if !folder.is_absolute() {
        return Err("it is not an absolute path".into());
    }
    match folder.as_os_str().as_bytes().iter().find(|byte| splits(byte)) {
        Some(&byte) => Err(format!("its path contains {:?}, which LD_PRELOAD cannot quote", byte as char)),
        None => Ok(()),
    }
}

/// A library in a folder that others can change would be their code in the user's program.
fn check_folder(folder: &Path) -> Result<(), String> {
    let about = std::fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    let own = about.is_dir() && about.uid() == rustix::process::geteuid().as_raw();
    if !own || about.mode() & 0o022 != 0 {
        return Err("other users can write to it".into());
    }
    let mount = rustix::fs::statvfs(folder).map_err(|error| error.to_string())?;
    match mount.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        true => Err("it is mounted noexec".into()),
        false => Ok(()),
    }
}

/// Several recorders may do this at once: each writes a file of its own, and the last rename wins with the same bytes.
fn write_whole(bytes: &[u8], path: &Path) -> io::Result<()> {
    let draft = draft_of(path);
    let written = write_draft(bytes, &draft).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        std::fs::remove_file(&draft).ok();
    }
    written
}

fn write_draft(bytes: &[u8], draft: &Path) -> io::Result<()> {
    let mut file = File::create(draft)?;
    file.write_all(bytes)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

fn list(tried: &[(PathBuf, String)]) -> String {
    let entries: Vec<String> =
        tried.iter().map(|(path, reason)| format!("{} ({reason})", path.display())).collect();
    entries.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_written_once_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().join("cache")];
        let first = install(b"library", &folders).unwrap();
        let made = std::fs::metadata(first.path()).unwrap().ino();
        assert_eq!(install(b"library", &folders).unwrap().path(), first.path());
        assert_eq!(std::fs::metadata(first.path()).unwrap().ino(), made, "it was written again");
        assert_eq!(std::fs::read_dir(&folders[0]).unwrap().count(), 1, "a draft was left behind");
    }

    #[test]
    fn a_file_with_other_bytes_under_the_same_name_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().join("cache")];
        let file = install(b"library", &folders).unwrap();
        std::fs::write(file.path(), b"tampered").unwrap();
        install(b"library", &folders).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"library");
    }

    #[test]
    fn unused_agents_are_removed_when_another_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().join("cache")];
        let paths = [b"first", b"other"].map(|bytes| install(bytes, &folders).unwrap().path().to_owned());
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(365 * 24 * 60 * 60);
        for path in &paths {
            let times = std::fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
            File::open(path).unwrap().set_times(times).unwrap();
        }
        install(b"other", &folders).unwrap();
        assert!(!paths[0].exists(), "nobody used it for a year");
        assert!(paths[1].exists(), "it was used now");
    }

    #[test]
    fn folders_that_the_linker_cannot_name_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let folders =
            ["with blank", "with:colon", "with$dollar", "good"].map(|name| folder.path().join(name));
        assert_eq!(install(b"library", &folders).unwrap().path().parent().unwrap(), folders[3]);
        assert!(!folders[0].exists());
    }

    #[test]
    fn a_folder_that_others_can_write_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = install(b"library", &[folder.path().to_owned()]).unwrap_err();
        assert_eq!(error.tried[0].1, "other users can write to it");
    }

    #[test]
    fn the_users_own_cache_comes_before_shared_folders() {
        let folders =
            Folders { cache: None, home: Some("/home/u".into()), temporary: Some("/scratch".into()) };
        let candidates = folders.candidates_of(rustix::process::Uid::from_raw(1000));
        assert_eq!(candidates[0], Path::new("/home/u/.cache/heaplens"));
        assert!(candidates[1].starts_with("/scratch") && candidates[2].starts_with("/tmp"));
        let of_root = folders.candidates_of(rustix::process::Uid::ROOT);
        assert_eq!(of_root[0], Path::new("/tmp/heaplens-0"));
        assert_eq!(of_root[2], Path::new("/home/u/.cache/heaplens"));
    }
}
