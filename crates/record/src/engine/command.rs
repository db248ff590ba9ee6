//! The command line of the engine: our options, those that the user gave for Valgrind, and the program.

use std::ffi::OsString;
use std::fmt::Display;

/// Options of the engine that the user's may replace.
///
/// `--leak-check=no` alone is not enough: in XML mode Memcheck searches for leaks and writes each of them unless there is no kind to show.
const PREFERRED: &[&str] =
    &["--leak-check=no", "--show-leak-kinds=none", "--num-callers=30", "--error-limit=no", "--vgdb=no"];

/// Options that make the output what the reader expects. They come last: of two values Valgrind takes the later one.
///
/// A forked child would write into the same XML; options from files and from the environment are not Heaplens's.
const REQUIRED: &[&str] =
    &["--tool=memcheck", "--xml=yes", "--child-silent-after-fork=yes", "--command-line-only=yes"];

/// Where the engine writes, by descriptor, and what it reads, by path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels<'a> {
    pub(super) xml: i32,
    pub(super) log: i32,
    pub(super) suppressions: &'a [OsString],
}

/// The words after `valgrind`.
pub(super) fn words(channels: Channels<'_>, options: &[String], command: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = PREFERRED.iter().map(OsString::from).collect();
    words.extend(channels.suppressions.iter().map(|path| option("--suppressions", path.display())));
    words.extend(options.iter().map(OsString::from));
    words.extend(REQUIRED.iter().map(OsString::from));
    words.push(option("--xml-fd", channels.xml));
    words.push(option("--log-fd", channels.log));
    words.extend_from_slice(command);
    words
}

fn option(name: &str, value: impl Display) -> OsString {
    format!("{name}={value}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(options: &[&str]) -> String {
        let paths = ["/proc/7/fd/3".into(), "own.supp".into()];
        let channels = Channels { xml: 100, log: 101, suppressions: &paths };
        let options: Vec<String> = options.iter().map(|&word| word.to_owned()).collect();
        let words = words(channels, &options, &["x".into(), "-q".into()]);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_of_the_user_replace_ours_but_never_where_and_how_it_writes() {
        let line = line(&["--track-origins=yes", "--num-callers=50", "--xml=no"]);
        let at = |word: &str| line.find(word).unwrap_or_else(|| panic!("{word} in {line}"));
        assert!(at("--num-callers=30") < at("--num-callers=50"), "{line}");
        assert!(at("--xml=no") < at("--xml=yes") && at("--xml=yes") < at("--xml-fd=100"), "{line}");
        assert!(line.contains("--suppressions=/proc/7/fd/3 --suppressions=own.supp"), "{line}");
    }

    #[test]
    fn the_program_and_its_arguments_come_last() {
        assert!(line(&[]).ends_with(" --log-fd=101 x -q"), "{}", line(&[]));
    }
}
