//! One command of a task: runs, shows and counts it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Ran and were right.
    pub passed: u64,
    /// Ran and were wrong.
    pub failed: u64,
    /// Could not run here.
    pub skipped: u64,
}

impl Count {
    /// One test.
    pub fn one(passed: bool) -> Self {
        Self { passed: passed.into(), failed: (!passed).into(), skipped: 0 }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// A check that is right or wrong as a whole.
pub fn whole(name: &str, command: &mut Command) -> Count {
    println!("== {name}");
    let passed = command.status().is_ok_and(|status| status.success());
    if !passed {
        println!("FAILED: {name}");
    }
    Count::one(passed)
}

/// A command that runs tests of its own: every line is shown, results are counted; and what follows this word on the lines of stderr
/// that begin with it.
pub fn tests_saying(word: &'static str, name: &str, command: &mut Command) -> Result<(Count, Vec<String>)> {
    println!("== {name}");
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stderr = child.stderr.take().context("stderr is a pipe")?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let talk = thread::spawn(move || {
        let mut said = Vec::new();
        let tally = Tally::heard(stderr, |line| said.extend(line.strip_prefix(word).map(str::to_owned)));
        (tally, said)
    });
    let results = Tally::of(stdout);
    let (talk, said) = talk.join().unwrap_or_default();
    let count = results.and(talk).count();
    let ended_well = child.wait().context("cargo ends")?.success();
    // A test binary that does not build or dies prints no result.
    let silent_failure = !ended_well && count.failed == 0;
    Ok((if silent_failure { count.and(Count::one(false)) } else { count }, said))
}

/// What the lines of one stream say. Results and reasons for skipping come on different streams.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    ended_well: u64,
    failed: u64,
    ignored: u64,
    skipped: u64,
}

impl Tally {
    /// Reads a stream to its end and shows it.
    fn of(stream: impl Read) -> Self {
        Self::heard(stream, |_| {})
    }

    /// The same with a listener.
    fn heard(stream: impl Read, mut listener: impl FnMut(&str)) -> Self {
        let mut tally = Self::default();
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            println!("{line}");
            tally.take(&line);
            listener(&line);
        }
        tally
    }

    fn take(&mut self, line: &str) {
        if line.starts_with("skipped: ") {
            self.skipped += 1;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.ended_well += number_before(result, " passed");
            self.failed += number_before(result, " failed");
            self.ignored += number_before(result, " ignored");
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            ended_well: self.ended_well + other.ended_well,
            failed: self.failed + other.failed,
            ignored: self.ignored + other.ignored,
            skipped: self.skipped + other.skipped,
        }
    }

    /// A test that skips itself tells its harness that it ended well: it is taken off there.
    fn count(self) -> Count {
        Count {
            passed: self.ended_well.saturating_sub(self.skipped),
            failed: self.failed,
            skipped: self.skipped + self.ignored,
        }
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap_or_default();
    before
        .rsplit(|character: char| !character.is_ascii_digit())
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &str) -> Count {
        Tally::of(lines.as_bytes()).count()
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        let lines = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                     test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s\n";
        assert_eq!(counted(lines), Count { passed: 43, failed: 2, skipped: 1 });
    }

    #[test]
    fn a_skipped_test_is_not_a_passed_one() {
        let talk = Tally::of("skipped: kill::x: not root\n".as_bytes());
        let results = Tally::of("test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured\n".as_bytes());
        assert_eq!(results.and(talk).count(), Count { passed: 4, failed: 0, skipped: 1 });
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(counted("running 3 tests\ntest a ... ok\nskipped\n"), Count::default());
    }
}
