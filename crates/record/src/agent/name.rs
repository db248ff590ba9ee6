//! What the agent's file is called: by the fingerprint of its bytes, so that each version has a file of its own. It opens no file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How the file's name begins and ends; between them is the fingerprint of its bytes.
const PREFIX: &str = "libheaplens-";
const SUFFIX: &str = ".so";
/// How it ends while the file is being written.
const DRAFT_SUFFIX: &str = ".tmp";

/// The name of the file with these bytes.
pub(super) fn file_name(agent: &[u8]) -> String {
    format!("{PREFIX}{:016x}{SUFFIX}", fingerprint(agent))
}

/// The path at which this process writes the file before it gets its name.
pub(super) fn draft_of(path: &Path) -> PathBuf {
    path.with_extension(format!("{}{DRAFT_SUFFIX}", std::process::id()))
}

/// Whether a path has the name of an agent's file.
pub(crate) fn is_agent(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Whether a path has the name of one that is being written, or was when its recorder was killed.
pub(crate) fn is_draft(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.starts_with(PREFIX) && name.ends_with(DRAFT_SUFFIX)
}

/// FNV-1a: names the content, proves nothing (the bytes are compared).
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_recognised_by_its_file_name() {
        let agent = Path::new("/cache").join(file_name(b"library"));
        assert!(is_agent(&agent) && !is_draft(&agent));
        assert!(is_draft(&draft_of(&agent)) && !is_agent(&draft_of(&agent)));
        assert!(!is_agent(Path::new("/usr/lib/libheaplens.so")) && !is_agent(Path::new("/")));
    }
}
