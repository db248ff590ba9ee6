//! Test suites that are not ours: run twice alone and once recorded, every single test must end as it does alone.
//!
//! A test that ends differently in the two runs alone says nothing about Heaplens: it is listed and not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::check::Count;
use crate::workspace::{printed, target};

/// Versions whose suites are run, the newest first.
const WANTED: [&str; 2] = ["3.12.", "3.11."];

/// How each test ended, by its name.
type Outcomes = BTreeMap<String, String>;

/// Prints how each test of a JUnit file ended: name, tab, outcome. One test may be there several times, with its parts.
const READ: &str = "
import sys, xml.etree.ElementTree as tree
ends = {}
for case in tree.parse(sys.argv[1]).iter('testcase'):
    name = ' '.join(((case.get('classname') or '') + ' ' + case.get('name').split(' (')[0]).split())
    ends.setdefault(name, set()).update({child.tag for child in case} & {'failure', 'error', 'skipped'})
for name in sorted(ends):
    print(name, ' and '.join(sorted(ends[name])) or 'passed', sep='\\t')
";

/// A suite, or a part of one that runs by itself.
pub struct Suite {
    /// What it is called in the results.
    pub name: String,
    /// The interpreter.
    pub python: PathBuf,
    /// The module that runs it; it takes `--junit-xml FILE`.
    pub runner: &'static str,
    /// Further words for it.
    pub words: Vec<String>,
    /// A run that takes longer hangs.
    pub most_seconds: u64,
}

/// A test that is known to see Heaplens, and why it must.
pub struct Known {
    /// Name.
    pub test: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// What came of a suite.
pub struct SuiteVerdict {
    /// Tests that ended the same way, another way, and those not judged.
    pub count: Count,
    /// One line on all, one on each test that differed.
    pub lines: Vec<String>,
}

/// Runs a suite in all ways. `folder` is its own.
pub fn judge(heaplens: &Path, suite: &Suite, known: &[Known], folder: &Path) -> Result<SuiteVerdict> {
    println!("== {}", suite.name);
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let recording = folder.join("run.hlr");
    let mut recorder = Command::new(heaplens);
    recorder.args(["run", "-q", "-o"]).arg(&recording).arg("--");
    let (alone, alone_took) = run(suite, None, folder)?;
    let (recorded, recorded_took) = run(suite, Some(&recorder), folder)?;
    let (again, _) = run(suite, None, folder)?;
    let (Some(alone), Some(again)) = (alone, again) else {
        return Ok(not_judged(format!("{}: not judged, it does not end alone", suite.name)));
    };
    let mut verdict = compare(known, &alone, &again, &recorded.unwrap_or_default());
    let Count { passed, failed, skipped } = verdict.count;
    verdict.lines.insert(
        0,
        format!(
            "{}: {passed} tests end as alone, {failed} do not, {skipped} not judged; {} s alone, {} s recorded",
            suite.name,
            alone_took.as_secs(),
            recorded_took.as_secs()
        ),
    );
    verdict.lines.iter().for_each(|line| println!("{line}"));
    assert_readable(heaplens, &recording)?;
    std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(verdict)
}

/// A part that did not run, with the reason.
pub fn not_judged(line: String) -> SuiteVerdict {
    println!("{line}");
    SuiteVerdict { count: Count { passed: 0, failed: 0, skipped: 1 }, lines: vec![line] }
}

/// One run, in an environment that is the same everywhere; `None` when it left no results.
fn run(suite: &Suite, recorder: Option<&Command>, folder: &Path) -> Result<(Option<Outcomes>, Duration)> {
    let (results, home) = (folder.join("results.xml"), folder.join("home"));
    std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(suite.most_seconds.to_string());
    if let Some(recorder) = recorder {
        command.arg(recorder.get_program()).args(recorder.get_args());
    }
    command.arg(&suite.python).args(["-m", suite.runner, "--junit-xml"]).arg(&results).args(&suite.words);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
    command.env("HOME", &home).env("TMPDIR", &home).env("PYTHONHASHSEED", "0").current_dir(&home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    command.status().context("cannot start `timeout`")?;
    let took = start.elapsed();
    let outcomes = results.exists().then(|| read(&suite.python, &results)).transpose()?;
    for left in [&results, &home] {
        drop(if left.is_dir() { std::fs::remove_dir_all(left) } else { std::fs::remove_file(left) });
    }
    Ok((outcomes, took))
}

fn read(python: &Path, results: &Path) -> Result<Outcomes> {
    let text = printed(Command::new(python).args(["-c", READ]).arg(results))?;
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(pairs.map(|(name, end)| (name.to_owned(), end.to_owned())).collect())
}

fn compare(known: &[Known], alone: &Outcomes, again: &Outcomes, recorded: &Outcomes) -> SuiteVerdict {
    let mut verdict = SuiteVerdict { count: Count::default(), lines: Vec::new() };
    let names: BTreeSet<&String> = alone.keys().chain(again.keys()).chain(recorded.keys()).collect();
    for name in names {
        let [was, once_more, is] =
            [alone, again, recorded].map(|run| run.get(name).map_or("not run", String::as_str));
        if was != once_more {
            verdict.count.skipped += 1;
            verdict.lines.push(format!("  differs alone: {name}: {was}, {once_more}; recorded {is}"));
        } else if was == is {
            verdict.count.passed += 1;
        } else if let Some(known) = known.iter().find(|known| known.test == name) {
            verdict.count.skipped += 1;
            verdict.lines.push(format!("  known: {name}: {was}, recorded {is}: {}", known.reason));
        } else {
            verdict.count.failed += 1;
            verdict.lines.push(format!("  DIFFERS: {name}: {was}, recorded {is}"));
        }
    }
    verdict
}

fn assert_readable(heaplens: &Path, recording: &Path) -> Result<()> {
    let output = Command::new(heaplens).args(["report", "--format", "json"]).arg(recording).output();
    let output = output.context("cannot start heaplens")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.is_empty(), "{} is damaged: {said}", recording.display());
    Ok(())
}

/// The interpreters that may bring suites along: those of a version manager, then what a shell finds, then the system's.
pub fn interpreters() -> Vec<PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    let root = std::env::var("PYENV_ROOT").unwrap_or_else(|_| format!("{home}/.pyenv"));
    let folders = std::fs::read_dir(format!("{root}/versions")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = folders.map(|folder| folder.path()).collect();
    let wanted = |path: &PathBuf| {
        path.file_name().is_some_and(|name| WANTED.iter().any(|one| name.to_string_lossy().starts_with(one)))
    };
    folders.retain(wanted);
    folders.sort_unstable_by(|one, other| other.cmp(one));
    let kept = folders.into_iter().map(|folder| folder.join("bin/python3"));
    kept.chain(["python3".into(), "/usr/bin/python3".into()]).collect()
}

/// A folder for the runs of a suite.
pub fn folder(name: &str) -> PathBuf {
    target().join("soak").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(pairs: &[(&str, &str)]) -> Outcomes {
        pairs.iter().map(|(name, end)| ((*name).to_owned(), (*end).to_owned())).collect()
    }

    #[test]
    fn what_differs_alone_or_is_known_is_listed_and_not_judged() {
        let alone = outcomes(&[("a", "passed"), ("b", "passed"), ("c", "failure"), ("d", "passed")]);
        let again = outcomes(&[("a", "passed"), ("b", "failure"), ("c", "failure"), ("d", "passed")]);
        let recorded = outcomes(&[("a", "passed"), ("b", "passed"), ("c", "failure"), ("d", "failure")]);
        let known = [Known { test: "d", reason: "of old" }];
        let verdict = compare(&known, &alone, &again, &recorded);
        assert_eq!(verdict.count, Count { passed: 2, failed: 0, skipped: 2 });
        assert_eq!(verdict.lines.len(), 2);
    }

    #[test]
    fn a_test_that_fails_passes_or_is_missing_only_when_recorded_is_a_failure() {
        let alone = outcomes(&[("a", "passed"), ("b", "failure"), ("c", "passed")]);
        let recorded = outcomes(&[("a", "failure"), ("b", "passed")]);
        let verdict = compare(&[], &alone, &alone, &recorded);
        assert_eq!(verdict.count, Count { passed: 0, failed: 3, skipped: 0 });
        assert!(verdict.lines[2].ends_with("c: passed, recorded not run"), "{:?}", verdict.lines);
    }
}
