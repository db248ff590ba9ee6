//! Names of addresses that earlier runs looked up, one file for each object file, so that the next run of a program opens none of its
//! libraries: reading the debug information of an interpreter and of the C library takes longer than recording a short program.
//!
//! A file of the cache is a recording with nothing but symbols, so its checksums tell whether it is whole. It counts for exactly the
//! files that the names came from, by what the file system says of them, and for exactly this build of Heaplens. What cannot be read or
//! written is left alone: names are then looked up again.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use heaplens_format::ModuleId;
use heaplens_format::recording::{FrameSymbol, Function, Module, Process, Recording, decode, encode};

use super::object_file::SymbolFiles;

/// The functions at return addresses that were looked up; none where nothing is known of an address.
pub(super) type LookedUp = HashMap<u64, Vec<Function>>;

/// What the names of its files end with.
const SUFFIX: &str = "symbols";
/// More addresses of one file are not kept.
const MOST_ADDRESSES: usize = 1 << 18;
/// Above this size of the whole cache, in bytes, its oldest files are removed, until half of it is left.
const MOST_BYTES: u64 = 128 << 20;
/// Stands for an address of which nothing is known: a recording has no symbol without a function.
const NOTHING_KNOWN: Function = Function { name: None, file: None, line: None };
/// A file that is read gets a new date after this time, so that it is not the oldest one.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder for names, or none.
#[derive(Clone, Debug, Default)]
pub struct SymbolCache {
    folder: Option<PathBuf>,
}

impl SymbolCache {
    /// Keeps names in this folder, and makes it if need be. It keeps nothing if others could write there, or nobody can.
    pub fn in_folder(folder: PathBuf) -> Self {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok();
        let is_own = |about: Metadata| {
            about.is_dir() && about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0
        };
        let is_safe = folder.symlink_metadata().is_ok_and(is_own);
        Self { folder: is_safe.then_some(folder) }
    }

    /// The names that come from these files, as they are now.
    pub(super) fn entry(&self, sources: &SymbolFiles) -> CacheEntry {
        CacheEntry { path: self.path(sources) }
    }

    fn path(&self, sources: &SymbolFiles) -> Option<PathBuf> {
        let folder = self.folder.as_ref().filter(|_| !sources.build_id.is_empty())?;
        let build_id: String = sources.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut hasher = DefaultHasher::new();
        identity(Path::new("/proc/self/exe"))?.hash(&mut hasher);
        for file in sources.files() {
            (file, identity(file)?).hash(&mut hasher);
        }
        Some(folder.join(format!("{build_id}-{:016x}.{SUFFIX}", hasher.finish())))
    }

    /// Removes files that were not used for longest, where all are too many. Drafts that were never finished are among them.
    pub(super) fn prune(&self) {
        let Some(entries) = self.folder.as_ref().and_then(|folder| folder.read_dir().ok()) else { return };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<(SystemTime, u64, PathBuf)> = paths
            .filter_map(|path| {
                let about = path.symlink_metadata().ok()?;
                Some((about.modified().ok()?, about.len(), path))
            })
            .collect();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        if bytes <= MOST_BYTES {
            return;
        }
        files.sort();
        for (_, length, path) in files {
            if bytes <= MOST_BYTES / 2 {
                return;
            }
            std::fs::remove_file(path).ok();
            bytes -= length;
        }
    }
}

/// The file of the cache for the names of one object file. It is chosen before that is read: whatever comes to its path later has another one.
pub(super) struct CacheEntry {
    /// `None` where nothing is kept.
    path: Option<PathBuf>,
}

impl CacheEntry {
    /// What is known.
    pub(super) fn read(&self) -> LookedUp {
        self.path.as_deref().and_then(read).unwrap_or_default()
    }

    /// Keeps what is known now.
    pub(super) fn write(&self, known: &LookedUp) {
        if let Some(path) = self.path.as_deref().filter(|_| known.len() <= MOST_ADDRESSES) {
            write(path, known);
        }
    }
}

/// What changes when another file comes to a path, or when the file is written to.
fn identity(path: &Path) -> Option<[i64; 6]> {
    let about = path.metadata().ok()?;
    let (inode, size) = (about.ino() as i64, about.len() as i64);
    Some([inode, size, about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()])
}

fn read(path: &Path) -> Option<LookedUp> {
    let decoded = decode(&std::fs::read(path).ok()?).ok()?;
    if !decoded.damage.is_empty() {
        return None;
    }
    let process = decoded.recording.processes.into_iter().next()?;
    if age(path).is_some_and(|age| age > DAY) {
        File::open(path).and_then(|file| file.set_modified(SystemTime::now())).ok();
    }
    let functions = |mut functions: Vec<Function>| {
        functions.retain(|function| *function != NOTHING_KNOWN);
        functions
    };
    Some(process.symbols.into_iter().map(|symbol| (symbol.offset, functions(symbol.functions))).collect())
}

fn age(path: &Path) -> Option<Duration> {
    path.metadata().ok()?.modified().ok()?.elapsed().ok()
}

/// Several may write the same file at once: each writes one of its own, and the last one renamed stays.
fn write(path: &Path, known: &LookedUp) {
    let symbol = |(&offset, functions): (&u64, &Vec<Function>)| FrameSymbol {
        module: ModuleId::new(1),
        offset,
        functions: if functions.is_empty() { vec![NOTHING_KNOWN] } else { functions.clone() },
    };
    let mut symbols: Vec<FrameSymbol> = known.iter().map(symbol).collect();
    symbols.sort_by_key(|symbol| symbol.offset);
    let process = Process { modules: vec![Module::default()], symbols, ..Process::default() };
    let bytes = encode(&Recording { processes: vec![process], ..Recording::default() });
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft);
    let written = opened.and_then(|mut file| file.write_all(&bytes));
    if written.and_then(|()| std::fs::rename(&draft, path)).is_err() {
        std::fs::remove_file(&draft).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache in a folder of its own, and an object file of some bytes.
    fn made() -> (tempfile::TempDir, SymbolCache, SymbolFiles) {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("object");
        std::fs::write(&object, b"code").unwrap();
        let cache = SymbolCache::in_folder(folder.path().join("cache/symbols"));
        let sources = SymbolFiles::of_file(&object, &[0xab, 0x01]);
        (folder, cache, sources)
    }

    fn known() -> LookedUp {
        let function = Function { name: Some("fill".into()), file: Some("a.c".into()), line: Some(7) };
        LookedUp::from([(16, vec![function]), (32, Vec::new())])
    }

    fn files(cache: &SymbolCache) -> Vec<PathBuf> {
        let entries = cache.folder.as_ref().unwrap().read_dir().unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_was_looked_up_is_read_again_also_that_there_is_no_name() {
        let (_folder, cache, sources) = made();
        assert_eq!(cache.entry(&sources).read(), LookedUp::new());
        cache.entry(&sources).write(&known());
        assert_eq!(cache.entry(&sources).read(), known());
        assert_eq!(files(&cache).len(), 1, "a draft was left behind");
        assert_eq!(files(&cache)[0].metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn another_file_at_the_path_or_in_it_has_no_names_from_the_cache() {
        let (_folder, cache, sources) = made();
        cache.entry(&sources).write(&known());
        std::fs::write(&sources.object, b"edoc").unwrap();
        assert_eq!(cache.entry(&sources).read(), LookedUp::new());
    }

    #[test]
    fn a_file_of_the_cache_that_is_damaged_says_nothing() {
        let (_folder, cache, sources) = made();
        cache.entry(&sources).write(&known());
        let path = files(&cache).remove(0);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            let found = cache.entry(&sources).read();
            assert!(found.is_empty() || found == known(), "byte {at}: {found:?}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.entry(&sources).read(), LookedUp::new(), "cut at {at}");
        }
    }

    #[test]
    fn without_a_build_id_and_in_a_folder_that_others_can_write_to_nothing_is_kept() {
        let (folder, cache, sources) = made();
        cache.entry(&SymbolFiles::of_file(&sources.object, &[])).write(&known());
        assert!(files(&cache).is_empty());
        let open = folder.path().join("open");
        DirBuilder::new().create(&open).unwrap();
        let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&open, everyone).unwrap();
        assert!(SymbolCache::in_folder(open).folder.is_none());
    }

    #[test]
    fn the_oldest_files_are_removed_when_all_are_too_large() {
        let (_folder, cache, sources) = made();
        let paths: Vec<PathBuf> = (0..4u64)
            .map(|number| {
                let path = cache.folder.as_ref().unwrap().join(format!("{number}.{SUFFIX}"));
                let file = File::create(&path).unwrap();
                file.set_len(MOST_BYTES / 3).unwrap();
                file.set_modified(SystemTime::now() - Duration::from_secs(100 - number)).unwrap();
                path
            })
            .collect();
        cache.entry(&sources).write(&known());
        cache.prune();
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, false, false, true]);
        assert_eq!(cache.entry(&sources).read(), known());
    }
}
