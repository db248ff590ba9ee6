//! The text of a source line, if the file was not changed since the program ran. It is read when the page is
//! written: a recording holds no contents of the user's files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::StackFrame;
use heaplens_format::Nanos;

/// A longer file is generated, or no source at all.
const MOST_BYTES: u64 = 16 << 20;

/// A line of a file that was not changed since that moment of Unix time; `None` when it is unavailable or empty.
pub(crate) fn source_line(file: &str, line: u32, started_unix: Nanos) -> Option<String> {
    let mut lines = unchanged(file, started_unix)?.split(b'\n');
    let bytes = lines.nth((line as usize).checked_sub(1)?)?.ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The lines around one, each with its number, without the indentation that all have; the file must not have been changed since
/// that moment of Unix time. Empty when they are unavailable, or when the line itself is blank.
pub(crate) fn excerpt(file: &str, line: u32, around: u32, started_unix: Nanos) -> Vec<(u32, String)> {
    let first = line.saturating_sub(around).max(1);
    let Some(file) = unchanged(file, started_unix) else { return Vec::new() };
    let rows =
        (1..).zip(file.split(b'\n')).skip(first as usize - 1).take((line - first + around) as usize + 1);
    let rows = rows.map_while(|(number, bytes)| Some((number, text_of(&bytes.ok()?))));
    let mut rows: Vec<(u32, String)> = rows.collect();
    if rows.iter().all(|(number, text)| *number != line || text.is_empty()) {
        return Vec::new();
    }
    while rows.last().is_some_and(|(_, text)| text.is_empty()) {
        rows.pop();
    }
    let indents = rows.iter().filter(|(_, text)| !text.is_empty());
    let indent = indents.map(|(_, text)| text.len() - text.trim_start_matches(' ').len()).min().unwrap_or(0);
    rows.iter_mut().filter(|(_, text)| !text.is_empty()).for_each(|(_, text)| _ = text.drain(..indent));
    rows
}

/// A line as it is shown: blanks for tabs, none at its end.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().replace('\t', "    ")
}

/// Lines of many frames: each file is read once.
#[derive(Debug, Default)]
pub struct Sources {
    files: HashMap<(Arc<str>, Nanos), Option<Vec<String>>>,
}

impl Sources {
    /// The text of the line of a frame, if its file was not changed since the program of the profile ran.
    pub fn line(&mut self, profile: &Profile, frame: &StackFrame) -> Option<String> {
        let (file, line) = (frame.file.as_ref()?, frame.line?);
        let started = profile.run.started_unix;
        let lines = self.files.entry((file.clone(), started)).or_insert_with(|| all_lines(file, started));
        let text = lines.as_ref()?.get((line as usize).checked_sub(1)?)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn all_lines(file: &str, started_unix: Nanos) -> Option<Vec<String>> {
    let lines = unchanged(file, started_unix)?.split(b'\n');
    lines.map(|line| line.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).ok()).collect()
}

/// The file, if it was not changed since that moment of Unix time.
fn unchanged(file: &str, started_unix: Nanos) -> Option<impl BufRead> {
    // A relative name may be another file's here.
    let path = Some(Path::new(file)).filter(|path| path.is_absolute())?;
    let about = path.metadata().ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    if !about.is_file() || changed.as_nanos() > u128::from(started_unix.get()) {
        return None;
    }
    Some(BufReader::new(File::open(path).ok()?.take(MOST_BYTES)))
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
    fn an_excerpt_keeps_only_the_indentation_that_differs() {
        let file = file(b"one\n    two\n\n\tif three:\n        four\nfive\n");
        let path = file.path().to_str().unwrap();
        let found = excerpt(path, 4, 2, FAR_FUTURE);
        let expected = [(2, "    two"), (3, ""), (4, "    if three:"), (5, "        four"), (6, "five")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(excerpt(path, 4, 0, FAR_FUTURE), [(4, "if three:".to_owned())]);
        assert_eq!(excerpt(path, 1, 1, FAR_FUTURE).len(), 2);
        assert_eq!(excerpt(path, 2, 1, FAR_FUTURE).len(), 2, "blank lines at the end say nothing");
        for nothing in [(3, FAR_FUTURE), (99, FAR_FUTURE), (4, Nanos::new(1))] {
            assert!(excerpt(path, nothing.0, 2, nothing.1).is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn a_file_that_was_changed_since_gives_no_line() {
        assert_eq!(line(file(b"first").path(), 1, Nanos::new(1)), None);
    }

    #[test]
    fn what_is_no_line_of_a_file_gives_no_line() {
        let file = file(b"first\n\n");
        for number in [0, 2, 3, 9_999] {
            assert_eq!(line(file.path(), number, FAR_FUTURE), None, "{number}");
        }
        for path in ["<string>", "/", "/dev/zero", "", "no such file"] {
            assert_eq!(line(Path::new(path), 1, FAR_FUTURE), None, "{path}");
        }
    }
}
