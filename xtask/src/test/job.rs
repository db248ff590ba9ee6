//! What runs as one process: the tests of a binary one after the other, in a time that is known for each, because the harness
//! writes a test's name before it and its result after it.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use super::binaries::Binary;
use super::options::TestOptions;
use super::outcome::{Ending, Outcome};
use super::pipe::Pieces;
use super::setup::Variables;

/// Tests of the suite that share recordings within a process, by the module that they have in common.
const SHARING: [&str; 2] = ["export::", "html::"];
/// The binary whose tests are long enough to run in a process each.
const SUITE: &str = "cli/suite";

/// Tests that run in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    binary: Binary,
    tests: Vec<String>,
    /// Whether these are all that the binary has: then it is given no names. Harnesses other than the standard one take only one.
    is_whole: bool,
}

/// The jobs of a run, those that take long first, so that none of them is left alone at the end.
pub fn plan(binaries: &[Binary], options: &TestOptions) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for binary in binaries {
        let tests = binary.tests()?;
        let of_binary = tests.len();
        let wanted = tests.into_iter().filter(|test| options.wants(&test.name, test.is_long));
        let wanted: Vec<String> = wanted.map(|test| test.name).collect();
        let is_whole = wanted.len() == of_binary && binary.name != SUITE;
        let groups = if is_whole { vec![wanted] } else { split(binary, wanted) };
        jobs.extend(groups.into_iter().map(|tests| Job { binary: binary.clone(), tests, is_whole }));
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.weight()));
    Ok(jobs)
}

/// Some of a binary's tests: each alone, or with those that it shares recordings with.
fn split(binary: &Binary, tests: Vec<String>) -> Vec<Vec<String>> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for test in tests {
        let shared = SHARING.into_iter().find(|theme| binary.name == SUITE && test.starts_with(theme));
        match groups.iter_mut().find(|(theme, _)| Some(*theme) == shared) {
            Some((_, group)) => group.push(test),
            None => groups.push((shared.unwrap_or("alone"), vec![test])),
        }
    }
    // Tests that run alone found no group of their name, since no test searches for that one.
    groups.into_iter().map(|(_, tests)| tests).collect()
}

impl Job {
    /// About how long it takes, for the order: frameworks take longest to start, then come all tests of a crate in one process.
    fn weight(&self) -> usize {
        let of_framework =
            self.tests.iter().any(|test| test.contains("tensorflow") || test.contains("frameworks"));
        let of_crate = self.binary.name != SUITE;
        (usize::from(of_framework) * 2 + usize::from(of_crate)) * 1000 + self.tests.len().min(999)
    }

    /// Runs it to its end; each of its tests has an outcome, also where the process dies on the way.
    pub fn run(&self, variables: &Variables) -> Vec<Outcome> {
        self.started(variables).and_then(|child| self.followed(child)).unwrap_or_else(|error| {
            let why = format!("{error:#}");
            self.tests.iter().map(|test| self.outcome(test, Ending::Failed(why.clone()), 0.0, 0.0)).collect()
        })
    }

    fn started(&self, variables: &Variables) -> Result<Child> {
        let mut command = self.binary.command();
        command.args(["--exact", "--include-ignored", "--test-threads=1"]);
        command.args(self.tests.iter().filter(|_| !self.is_whole));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().with_context(|| format!("cannot start {}", self.binary.path.display()))
    }

    fn followed(&self, mut child: Child) -> Result<Vec<Outcome>> {
        let stdout = child.stdout.take().context("stdout is a pipe")?;
        let stderr = child.stderr.take().context("stderr is a pipe")?;
        let ended = AtomicBool::new(false);
        let (mut results, talk, status) = thread::scope(|scope| {
            let results = scope.spawn(|| TestResults::of(Pieces::of(stdout, &ended)));
            let talk = scope.spawn(|| Pieces::of(stderr, &ended).flatten().collect::<Vec<u8>>());
            let status = waited_for(&child);
            ended.store(true, Ordering::Release);
            (results.join().unwrap_or_default(), talk.join().unwrap_or_default(), status)
        });
        let talk = String::from_utf8_lossy(&talk);
        let (status, cpu) = status.context("a test process ends")?;
        let cpu = cpu / self.tests.len().max(1) as f64;
        let whole = format!("{}{talk}\n{}: {status}", results.text, self.binary.name);
        let ending = |test: &String| match results.take(test) {
            Some((true, seconds)) if !is_skipped(&talk, test) => (Ending::Passed, seconds),
            Some((true, seconds)) => (Ending::Skipped(reasons(&talk)), seconds),
            Some((false, seconds)) => (Ending::Failed(whole.clone()), seconds),
            None => (Ending::Failed(format!("it did not come to its end\n{whole}")), 0.0),
        };
        let endings: Vec<(Ending, f64)> = self.tests.iter().map(ending).collect();
        let tests = self.tests.iter().zip(endings);
        Ok(tests.map(|(test, (ending, seconds))| self.outcome(test, ending, seconds, cpu)).collect())
    }

    fn outcome(&self, test: &str, ending: Ending, seconds: f64, cpu: f64) -> Outcome {
        let theme = test.split("::").next().filter(|_| self.binary.name == SUITE);
        let group = theme.map_or_else(|| self.binary.name.clone(), |theme| format!("{SUITE} {theme}"));
        Outcome { group, test: test.to_owned(), ending, seconds, cpu }
    }
}

/// Waits for a process, and says what CPU time it and all that it waited for had, in seconds.
fn waited_for(child: &Child) -> io::Result<(ExitStatus, f64)> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both are ours to write, and zero is a value of each. Nobody else waits for this child.
    let ended = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr()) };
    if ended < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see above.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok((ExitStatus::from_raw(status), seconds(usage.ru_utime) + seconds(usage.ru_stime)))
}

/// A test says that it cannot run here by a line of its name; one that runs only in part has lines of its parts.
fn is_skipped(talk: &str, test: &str) -> bool {
    talk.lines().filter_map(|line| line.strip_prefix("skipped: ")).any(|line| {
        let name = line.split(": ").next().unwrap_or_default();
        name == test || test.ends_with(&format!("::{name}")) || name.ends_with(test)
    })
}

fn reasons(talk: &str) -> String {
    let lines = talk.lines().filter(|line| line.starts_with("skipped: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// What the harness wrote, with the time that each test took.
#[derive(Default)]
struct TestResults {
    text: String,
    ended: Vec<(String, bool, f64)>,
}

impl TestResults {
    /// `test NAME ... ` comes when it begins, `ok` or `FAILED` when it has ended.
    fn of(stdout: impl Iterator<Item = Vec<u8>>) -> Self {
        let (mut results, mut begun) = (Self::default(), Instant::now());
        for piece in stdout {
            results.text.push_str(&String::from_utf8_lossy(&piece));
            if results.note_ended(begun.elapsed().as_secs_f64()) {
                begun = Instant::now();
            }
        }
        results
    }

    /// Takes note of a result that is new; whether there was one.
    fn note_ended(&mut self, seconds: f64) -> bool {
        let ended = ended(&self.text);
        let (known, now) = (self.ended.len(), ended.len());
        for (name, is_ok) in ended.into_iter().skip(known) {
            self.ended.push((name, is_ok, seconds / (now - known) as f64));
        }
        now > known
    }

    fn take(&mut self, test: &str) -> Option<(bool, f64)> {
        let at = self.ended.iter().position(|(name, ..)| name == test)?;
        let (_, is_ok, seconds) = self.ended.swap_remove(at);
        Some((is_ok, seconds))
    }
}

/// The tests that have ended, each with whether it was right. What a test's own programs print stands between its name and its
/// result.
fn ended(text: &str) -> Vec<(String, bool)> {
    let (mut ended, mut begun) = (Vec::new(), None);
    for line in text.lines() {
        let named = line.strip_prefix("test ").and_then(|line| line.split_once(" ... "));
        let result = match named {
            Some((name, result)) => {
                begun = name.split(" - should panic").next().map(|name| name.trim_end().to_owned());
                result
            }
            None => line,
        };
        let is_ok = match result.trim_end() {
            "ok" => true,
            "FAILED" => false,
            _ => continue,
        };
        ended.extend(begun.take().map(|name| (name, is_ok)));
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(name: &str) -> Binary {
        Binary { name: name.into(), path: "/x".into(), folder: "/".into() }
    }

    #[test]
    fn tests_run_alone_unless_they_share() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of_suite = split(&binary(SUITE), names(&["exit::a", "html::b", "exit::c", "html::x::d"]));
        assert_eq!(of_suite, [names(&["exit::a"]), names(&["html::b", "html::x::d"]), names(&["exit::c"])]);
        assert_eq!(split(&binary("format"), names(&["a::b", "c"])).len(), 2);
    }

    #[test]
    fn results_are_read_when_they_are_whole() {
        let text = "running 3 tests\ntest a::b ... ok\ntest c - should panic ... FAILED\ntest d   ... ";
        assert_eq!(ended(text), [("a::b".to_owned(), true), ("c".to_owned(), false)]);
        let text = "test d   ... of a child\nok\nok\ntest result: ok. 3 passed";
        assert_eq!(ended(text), [("d".to_owned(), true)]);
    }

    #[test]
    fn a_test_is_skipped_by_its_own_name_only() {
        let talk = "skipped: exit::a: no reason\nskipped: part of it: none\n";
        assert!(is_skipped(talk, "exit::a") && !is_skipped(talk, "exit::b"));
    }
}
