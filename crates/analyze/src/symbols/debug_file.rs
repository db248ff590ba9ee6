//! Where the debug information of a stripped file may lie: beside it or under `/usr/lib/debug`, found by build id or
//! by the name in `.gnu_debuglink`, and taken only when it is the right one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::headers::{Clues, build_id_of};

const SYSTEM: &str = "/usr/lib/debug";

/// The debug file of the object file at `path`.
pub(super) fn find(path: &Path, clues: &Clues) -> Option<PathBuf> {
    by_build_id(&clues.build_id).or_else(|| by_link(path, clues))
}

/// The file that a `.gnu_debugaltlink` names: shared parts of several debug files (dwz).
pub(super) fn find_supplement(of: &Path, name: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let beside = of.parent().map(|folder| folder.join(name));
    let candidates = beside.into_iter().chain(build_id_path(build_id));
    candidates.into_iter().find(|candidate| build_id_of(candidate).as_deref() == Some(build_id))
}

fn by_build_id(build_id: &[u8]) -> Option<PathBuf> {
    build_id_path(build_id).filter(|path| build_id_of(path).as_deref() == Some(build_id))
}

fn build_id_path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let hex: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Path::new(SYSTEM).join(".build-id").join(format!("{first:02x}")).join(hex + ".debug"))
}

fn by_link(path: &Path, clues: &Clues) -> Option<PathBuf> {
    let (name, crc) = clues.link.as_ref()?;
    let path = path.canonicalize().ok()?;
    let folder = path.parent()?;
    let system = Path::new(SYSTEM).join(folder.strip_prefix("/").ok()?);
    let candidates = [folder.join(name), folder.join(".debug").join(name), system.join(name)];
    candidates.into_iter().find(|candidate| *candidate != path && fits(candidate, clues, *crc))
}

/// The build id decides where both files have one; else the checksum over the whole file does.
fn fits(candidate: &Path, clues: &Clues, crc: u32) -> bool {
    match build_id_of(candidate) {
        Some(found) if !clues.build_id.is_empty() && !found.is_empty() => found == clues.build_id,
        Some(_) => crc32_of(candidate) == Some(crc),
        None => false,
    }
}

/// CRC-32 (IEEE 802.3, as `.gnu_debuglink` has it) of a whole file, read piece by piece.
fn crc32_of(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let mut piece = vec![0; 1 << 16];
    let mut crc = !0u32;
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(!crc),
            length => crc = piece[..length].iter().fold(crc, |crc, &byte| crc32_step(crc, byte)),
        }
    }
}

fn crc32_step(crc: u32, byte: u8) -> u32 {
    TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
}

static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = remainder(index as u32);
        index += 1;
    }
    table
};

const fn remainder(byte: u32) -> u32 {
    let mut crc = byte;
    let mut bit = 0;
    while bit < 8 {
        crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        bit += 1;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_ieee() {
        assert_eq!(!b"123456789".iter().fold(!0, |crc, &byte| crc32_step(crc, byte)), 0xcbf4_3926);
    }

    #[test]
    fn a_build_id_names_its_debug_file() {
        let path = build_id_path(&[0xab, 0x01, 0xff]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/01ff.debug"));
        assert_eq!(build_id_path(&[]), None);
    }
}
