//! Files in memory: what Valgrind prints besides its XML, and the suppressions that it reads.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, memfd_create};

/// The end of the log that is kept: of what Valgrind says when it cannot go on.
const KEPT: u64 = 4096;

/// What Valgrind prints for people. With XML that is next to nothing, unless it cannot go on.
pub(super) fn create() -> io::Result<File> {
    Ok(File::from(memfd_create("heaplens-engine-log", MemfdFlags::CLOEXEC)?))
}

/// The lines at its end.
pub(super) fn tail(mut log: &File) -> String {
    let mut bytes = Vec::new();
    let length = log.metadata().map_or(0, |about| about.len());
    let read = log.seek(io::SeekFrom::Start(length.saturating_sub(KEPT)));
    read.and_then(|_| log.take(KEPT).read_to_end(&mut bytes)).ok();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// A text that another process can read by its path as long as the file lives.
pub(super) fn readable(text: &str) -> io::Result<(File, OsString)> {
    let mut file = File::from(memfd_create("heaplens-suppressions", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_log_is_kept() {
        let mut log = create().unwrap();
        for number in 0..2000 {
            writeln!(log, "line {number}").unwrap();
        }
        let tail = tail(&log);
        assert!(tail.ends_with("line 1999") && tail.len() <= KEPT as usize, "{}", tail.len());
    }

    #[test]
    fn a_text_can_be_read_again_and_again() {
        let (_file, path) = readable("some text").unwrap();
        for _ in 0..2 {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "some text");
        }
    }
}
