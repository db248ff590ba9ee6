//! What the headers of an object file say about the file as a whole: its build id, whether it has lines, and where its debug
//! information may lie. It reads no symbol.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;
use object::read::ReadCache;

/// A file that is read in pieces.
pub(super) type Cache = ReadCache<BufReader<File>>;

/// The build id of the file at `path`: empty when it has none, `None` when it is no object file.
pub(crate) fn build_id_of(path: &Path) -> Option<Vec<u8>> {
    Facts::read(path).map(|facts| facts.clues.build_id)
}

/// What the stripped file says about its debug file.
pub(super) struct Clues {
    pub(super) build_id: Vec<u8>,
    /// Name and CRC-32 of the debug file.
    pub(super) link: Option<(PathBuf, u32)>,
}

/// What the section headers say.
pub(super) struct Facts {
    pub(super) clues: Clues,
    pub(super) has_lines: bool,
    /// Name and build id of the file with shared debug information.
    pub(super) supplement: Option<(PathBuf, Vec<u8>)>,
}

impl Facts {
    /// `None` when it is no object file.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let cache = open_cache(path)?;
        let file = object::File::parse(&cache).ok()?;
        let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        let link = file.gnu_debuglink().ok().flatten();
        let supplement = file.gnu_debugaltlink().ok().flatten();
        Some(Self {
            clues: Clues { build_id, link: link.map(|(name, crc)| (path_from(name), crc)) },
            has_lines: file.section_by_name(".debug_info").is_some(),
            supplement: supplement.map(|(name, id)| (path_from(name), id.to_vec())),
        })
    }
}

/// Reads a plain file in pieces; `None` when it is none.
pub(super) fn open_cache(path: &Path) -> Option<Cache> {
    let file = File::open(path).ok()?;
    let plain = file.metadata().ok()?.is_file();
    plain.then(|| ReadCache::new(BufReader::new(file)))
}

fn path_from(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}
