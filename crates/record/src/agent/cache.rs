//! The folder of agent files, in which every version of Heaplens leaves one: who uses a file, and the removal of those that nobody
//! has used for long. It never fails a run: what cannot be locked, read or removed stays where it is.
//!
//! The folder may be shared by machines and by versions of Heaplens, and whoever has the path of a file in `LD_PRELOAD` loads it
//! again with each program that it starts. So a file is removed only if all of this holds:
//!
//! - it was neither used nor read for [`UNUSED_FOR`]; each run that uses it says so by its time of modification;
//! - no recorder uses it: each one holds a shared lock on it while it runs, which other machines see on a network file system;
//! - no process of this machine has it mapped or names it in its environment: a recorder can be killed, and its program goes on;
//! - `heaplens agent` did not hand out its path, which leaves a marker beside the file: nobody knows who preloads that, and when.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::name::{is_agent, is_draft};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// After so long without use a file may be removed.
const UNUSED_FOR: Duration = DAY.saturating_mul(60);

/// What a marker's name has after that of the file that it keeps.
const KEPT: &str = ".keep";

/// Opens a file that is in use until the result is dropped. `None`: it is not there, or was removed in the meantime.
pub(crate) fn open_for_use(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    // Where files cannot be locked, `remove` cannot either, and leaves them.
    file.lock_shared().ok();
    let about = file.metadata().ok()?;
    if !leads_to(path, &about) {
        return None;
    }
    // Not with every run: a day more or less does not matter.
    if age(about.modified()) > DAY {
        file.set_modified(SystemTime::now()).ok();
    }
    Some(file)
}

/// Leaves a marker beside a file, which is never removed then.
pub(crate) fn keep(path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(marker(path)).map(drop)
}

/// Removes the files of a folder that nobody uses any more.
pub(crate) fn prune(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    let paths = entries.flatten().map(|entry| entry.path());
    let unused: Vec<PathBuf> = paths.filter(|path| is_unused(path)).collect();
    // Usually there are none: searching all processes takes longer than the rest.
    if unused.is_empty() {
        return;
    }
    let Ok(in_processes) = named_in_processes(&unused) else { return };
    for path in unused {
        // A file in use gets a new date, so that it is not searched for again with every run.
        let removed = if in_processes.contains(&path) { touch(&path) } else { remove(&path) };
        removed.ok();
    }
}

fn is_unused(path: &Path) -> bool {
    (is_agent(path) || is_draft(path))
        && path.symlink_metadata().is_ok_and(|about| about.is_file() && is_old(&about))
        && !marker(path).exists()
}

/// Also by the time of its last access, where the file system keeps that: the dynamic linker sets it, too.
fn is_old(about: &Metadata) -> bool {
    age(about.modified()) > UNUSED_FOR && age(about.accessed()) > UNUSED_FOR
}

/// Zero where the time is unknown or in the future.
fn age(time: io::Result<SystemTime>) -> Duration {
    time.ok().and_then(|time| time.elapsed().ok()).unwrap_or_default()
}

fn marker(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(KEPT);
    name.into()
}

fn touch(path: &Path) -> io::Result<()> {
    File::open(path)?.set_modified(SystemTime::now())
}

/// Under a lock that excludes all who use the file: who opens it for use later finds it gone, who did so before holds the lock or
/// has made the file young. Opened for writing, without which a network file system gives no such lock.
fn remove(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    if file.try_lock().is_err() {
        return file.set_modified(SystemTime::now());
    }
    let about = file.metadata()?;
    match leads_to(path, &about) && is_old(&about) && !marker(path).exists() {
        true => std::fs::remove_file(path),
        false => Ok(()),
    }
}

/// Whether a path still is that of this very file.
fn leads_to(path: &Path, about: &Metadata) -> bool {
    path.symlink_metadata().is_ok_and(|now| (now.dev(), now.ino()) == (about.dev(), about.ino()))
}

/// Those that a process has mapped or in its environment. A process that cannot be read is another user's, who gets no agent from
/// this folder, or one of the kernel's.
fn named_in_processes(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut named = Vec::new();
    for entry in Path::new("/proc").read_dir()? {
        let process = entry?.path();
        if !is_process(&process) {
            continue;
        }
        for text in ["maps", "environ"].iter().filter_map(|file| std::fs::read(process.join(file)).ok()) {
            named.extend(paths.iter().filter(|path| names(&text, path)).cloned());
        }
    }
    Ok(named)
}

fn is_process(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.parse::<u32>().is_ok())
}

/// By the name alone, which is that of the content: the path of the folder may differ from process to process.
fn names(text: &[u8], path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    text.windows(name.len()).any(|part| part == name)
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// An agent that was last used so long ago. Its name is that of no other test, also not of one that runs elsewhere now: processes
    /// are asked for names.
    fn agent(folder: &Path, number: u64, age: Duration) -> PathBuf {
        let name = u64::from(std::process::id()) << 16 | number;
        file(folder, &format!("libheaplens-{name:016x}.so"), age)
    }

    fn file(folder: &Path, name: &str, age: Duration) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, b"library").unwrap();
        set_age(&path, age);
        path
    }

    fn set_age(path: &Path, age: Duration) {
        let then = SystemTime::now() - age;
        let times = FileTimes::new().set_accessed(then).set_modified(then);
        File::open(path).unwrap().set_times(times).unwrap();
    }

    /// Reads its input until that is closed.
    fn waiting_process(variable: &Path) -> Child {
        let mut command = Command::new("cat");
        command.env("ANYTHING", variable).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    #[test]
    fn a_file_that_nobody_used_for_long_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 1, 2 * UNUSED_FOR);
        let draft = file(folder.path(), "libheaplens-00000000000000aa.1234.tmp", 2 * UNUSED_FOR);
        let young = agent(folder.path(), 2, UNUSED_FOR - DAY);
        let foreign = file(folder.path(), "libheaplens.so", 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(!old.exists() && !draft.exists() && young.exists() && foreign.exists());
    }

    #[test]
    fn a_file_that_was_read_or_used_lately_stays() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 3, 2 * UNUSED_FOR);
        let read = FileTimes::new().set_accessed(SystemTime::now() - DAY);
        File::open(&old).unwrap().set_times(read).unwrap();
        prune(folder.path());
        assert!(old.exists(), "somebody read it");
        set_age(&old, 2 * UNUSED_FOR);
        drop(open_for_use(&old));
        set_accessed_long_ago(&old);
        prune(folder.path());
        assert!(old.exists(), "somebody used it");
    }

    fn set_accessed_long_ago(path: &Path) {
        let then = FileTimes::new().set_accessed(SystemTime::now() - 2 * UNUSED_FOR);
        File::open(path).unwrap().set_times(then).unwrap();
    }

    #[test]
    fn a_file_that_was_handed_out_stays() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 4, 2 * UNUSED_FOR);
        keep(&old).unwrap();
        keep(&old).unwrap();
        prune(folder.path());
        assert!(old.exists());
    }

    #[test]
    fn a_file_that_a_recorder_uses_stays_and_counts_as_young() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 5, 2 * UNUSED_FOR);
        let used = open_for_use(&old).unwrap();
        set_age(&old, 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(age(old.metadata().unwrap().modified()) < DAY);
        drop(used);
        set_age(&old, 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(!old.exists(), "nobody uses it any more");
    }

    #[test]
    fn a_file_in_the_environment_of_a_process_stays() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 6, 2 * UNUSED_FOR);
        let mut process = waiting_process(&old);
        prune(folder.path());
        assert!(old.exists());
        drop(process.stdin.take());
        process.wait().unwrap();
        set_age(&old, 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(!old.exists());
    }

    #[test]
    fn a_file_that_a_process_has_mapped_stays() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 7, 2 * UNUSED_FOR);
        // SAFETY: nobody changes the file while the test runs.
        let mapped = unsafe { memmap2::Mmap::map(&File::open(&old).unwrap()).unwrap() };
        set_age(&old, 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(old.exists() && &mapped[..] == b"library");
        drop(mapped);
        set_age(&old, 2 * UNUSED_FOR);
        prune(folder.path());
        assert!(!old.exists());
    }

    #[test]
    fn a_file_that_is_removed_before_it_is_locked_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let old = agent(folder.path(), 8, DAY);
        let about = old.metadata().unwrap();
        std::fs::remove_file(&old).unwrap();
        assert!(!leads_to(&old, &about) && open_for_use(&old).is_none());
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_left_alone() {
        prune(Path::new("/nonexistent/folder"));
    }
}
