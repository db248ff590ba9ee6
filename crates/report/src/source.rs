//! The text of a source line, where the file still says what it said when the program ran. It is read when the page is
//! written: a recording holds no contents of the user's files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use heaplens_format::Nanos;

/// A longer file is generated, or no source at all.
const MOST_BYTES: u64 = 16 << 20;

/// A line of a file that was not changed since that moment of Unix time; `None` when it is not to be had, or empty.
pub(crate) fn source_line(file: &str, line: u32, started_unix: Nanos) -> Option<String> {
    // A relative name may be another file's here.
    let path = Some(Path::new(file)).filter(|path| path.is_absolute())?;
    let about = path.metadata().ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    if !about.is_file() || changed.as_nanos() > u128::from(started_unix.get()) {
        return None;
    }
    let mut lines = BufReader::new(File::open(path).ok()?.take(MOST_BYTES)).split(b'\n');
    let bytes = lines.nth((line as usize).checked_sub(1)?)?.ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR_FUTURE: Nanos = Nanos::new(u64::MAX);

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn line(file: &Path, line: u32, started: Nanos) -> Option<String> {
        source_line(file.to_str().unwrap(), line, started)
    }

    #[test]
    fn a_line_is_found_without_its_indentation() {
        let file = file(b"first\n    second  \r\n\tlast \xff");
        let found = [1, 2, 3].map(|number| line(file.path(), number, FAR_FUTURE).unwrap());
        assert_eq!(found, ["first", "second", "last \u{fffd}"]);
    }

    #[test]
    fn a_file_that_was_changed_since_says_nothing() {
        assert_eq!(line(file(b"first").path(), 1, Nanos::new(1)), None);
    }

    #[test]
    fn what_is_no_line_of_a_file_says_nothing() {
        let file = file(b"first\n\n");
        for number in [0, 2, 3, 9_999] {
            assert_eq!(line(file.path(), number, FAR_FUTURE), None, "{number}");
        }
        for path in ["<string>", "/", "/dev/zero", "", "no such file"] {
            assert_eq!(line(Path::new(path), 1, FAR_FUTURE), None, "{path}");
        }
    }
}
