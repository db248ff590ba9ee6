//! The arenas in the directory of a session, by their names, and when that has to be listed again. It opens no arena.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use heaplens_format::Pid;
use heaplens_format::environment::ARENA_SUFFIX;

/// Whose arena a file is. The images of one process sort by the order in which they ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArenaName {
    /// The process.
    pub(crate) pid: Pid,
    /// How many times the process had called `exec` before.
    pub(crate) execs: u32,
}

impl ArenaName {
    fn parse(name: &OsStr) -> Option<Self> {
        let (pid, execs) = name.to_str()?.strip_suffix(ARENA_SUFFIX)?.split_once('.')?;
        Some(Self { pid: Pid::new(pid.parse().ok()?), execs: execs.parse().ok()? })
    }
}

/// The arenas that are in a directory now, in the order of their names; other files are skipped.
pub(crate) fn arenas(directory: &Path) -> io::Result<Vec<(ArenaName, PathBuf)>> {
    let mut arenas = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        arenas.extend(ArenaName::parse(&entry.file_name()).map(|name| (name, entry.path())));
    }
    arenas.sort();
    Ok(arenas)
}

/// Two changes of a directory within this time may have the same date: the kernel's coarse clock ticks every 10 ms at most.
const SAME_DATE: Duration = Duration::from_millis(50);

/// Whether a directory has to be listed: reading its date costs a tenth of that.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The date of the directory when it was last listed completely.
    listed: Option<SystemTime>,
}

impl Listing {
    /// To be called before it is listed: what is created after that changes the date again.
    pub(crate) fn is_due(&mut self, directory: &Path) -> bool {
        let Ok(changed) = std::fs::metadata(directory).and_then(|about| about.modified()) else {
            return true;
        };
        if self.listed == Some(changed) {
            return false;
        }
        let is_past = SystemTime::now().duration_since(changed).is_ok_and(|age| age > SAME_DATE);
        self.listed = is_past.then_some(changed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_named_like_arenas_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["12.1.arena", "12.0.arena", "7.0.arena", "x.0.arena", "7.arena", "notes"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = arenas(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|(name, _)| (name.pid.get(), name.execs)).collect();
        assert_eq!(names, [(7, 0), (12, 0), (12, 1)]);
    }

    #[test]
    fn a_directory_is_listed_until_its_last_change_is_past_and_after_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let date = |age: Duration| {
            let file = std::fs::File::open(folder.path()).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        let mut listing = Listing::default();
        date(Duration::from_secs(1));
        assert!(listing.is_due(folder.path()));
        assert!(!listing.is_due(folder.path()));
        date(Duration::ZERO);
        assert!(listing.is_due(folder.path()) && listing.is_due(folder.path()));
    }
}
