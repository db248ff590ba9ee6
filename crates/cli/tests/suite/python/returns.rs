//! The reclaim test, which shows what memory can be given back: at the end of a script, and of a program that runs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Heaplens, Report};
use crate::requests::child_of;

fn recorded(python: &Interpreter, options: &[&str], words: &[&str]) -> Finished {
    let run = Heaplens::on(&python.path, options).arg(script("python_returns.py"));
    words.iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0)
}

/// The number after a word that the program printed.
fn said(output: &str, word: &str) -> u64 {
    let line = output.lines().find_map(|line| line.strip_prefix(word)).expect("the program says it");
    line.trim().parse().expect("a number")
}

fn field(report: &Report, test: &str, name: &str) -> u64 {
    report.0["returns"][test][name]
        .as_u64()
        .unwrap_or_else(|| panic!("{test} {name}: {}", report.0["returns"]))
}

#[test]
fn cycles_that_wait_for_the_collector_are_reported_to_the_byte() {
    for python in
        interpreters::versions("python::returns::cycles_that_wait_for_the_collector_are_reported_to_the_byte")
    {
        let run = recorded(&python, &["--python-allocations=none"], &["cycles"]);
        let (truth, found) =
            (said(&run.stdout(), "collected"), field(&run.report(), "collected", "heap_bytes"));
        assert_eq!(found, truth, "Python {}", python.version);
    }
}

/// As few iterations as growth is judged by are enough for a reclaim test: garbage that waits is no leak.
#[test]
fn garbage_of_a_loop_of_a_few_iterations_is_clean() {
    for python in interpreters::versions("python::returns::garbage_of_a_loop_of_a_few_iterations_is_clean") {
        let report = recorded(&python, &[], &["few"]).report().0;
        assert_eq!(report["iterations"]["count"], 12, "Python {}", python.version);
        assert_eq!(report["findings"], serde_json::json!([]), "Python {}", python.version);
        assert_ne!(
            report["returns"],
            serde_json::Value::Null,
            "Python {}: the test was made",
            python.version
        );
    }
}

#[test]
fn a_passive_run_makes_no_reclaim_test() {
    let python = &interpreters::all("python::returns::a_passive_run_makes_no_reclaim_test")[0];
    let run = recorded(python, &["--passive"], &["cycles"]);
    assert_eq!(run.report().0["returns"], serde_json::Value::Null);
}

/// The program asks its allocator itself, without us, and prints what that gave.
#[test]
fn holes_between_blocks_come_back_as_the_allocator_says_itself() {
    let python = &interpreters::all("python::returns::holes_between_blocks")[0];
    let alone = Command::new(&python.path).arg(script("python_returns.py")).args(["holes", "alone"]).output();
    let truth = said(&String::from_utf8_lossy(&alone.expect("python starts").stdout), "trimmed");
    assert!(truth > 16 << 20, "{truth} bytes are no holes");
    let report = recorded(python, &[], &["holes"]).report();
    let found = field(&report, "trimmed", "rss_before") - field(&report, "trimmed", "rss_after");
    assert!(
        found.abs_diff(truth) <= truth / 20,
        "{found} bytes came back, {truth} by the program's own trim"
    );
}

/// Finalizers run where they would have run, and say the same. The program collects first, which resets the collector's count: our exit handler
/// adds a few objects to it, and the start of Python 3.14 alone ends just below the threshold.
#[test]
fn finalizers_and_exit_statuses_are_those_of_the_program_alone() {
    const PROGRAM: &str = "
import atexit, gc, sys
gc.collect()
class Cycle:
    def __init__(self, number): self.itself, self.number = self, number
    def __del__(self): print('gone', self.number, sys.modules is not None)
kept = [Cycle(number) for number in range(3)]
for number in range(30):
    Cycle(100 + number), bytes(5000)
atexit.register(print, 'the end')
del kept[1]
if len(sys.argv) > 1: raise KeyError('on purpose')
sys.exit(3)
";
    for python in
        interpreters::all("python::returns::finalizers_and_exit_statuses_are_those_of_the_program_alone")
    {
        for more in [&[][..], &["fail"]] {
            let alone =
                Command::new(&python.path).args(["-c", PROGRAM]).args(more).output().expect("python starts");
            let run = Heaplens::on(&python.path, &[]).arg("-c").arg(PROGRAM);
            let run = more.iter().fold(run, |run, word| run.arg(word)).finish();
            assert_eq!(run.stdout(), String::from_utf8_lossy(&alone.stdout), "Python {}", python.version);
            assert_eq!(run.output.status.code(), alone.status.code(), "Python {}", python.version);
            assert_ne!(run.report().0["returns"], serde_json::Value::Null, "the test was made");
        }
    }
}

/// The program is asked between two lines of its input, answers, and goes on.
#[test]
fn a_program_that_runs_is_asked_and_goes_on() {
    for python in interpreters::all("python::returns::a_program_that_runs_is_asked_and_goes_on") {
        let run = Heaplens::on(&python.path, &[]).arg(script("python_returns.py")).arg("until-eof");
        let (folder, mut command) = run.into_parts();
        let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
        let mut lines = run.stdin.take().expect("stdin is a pipe");
        let mut output = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
        output.read_line(&mut String::new()).expect("the program is ready");
        let recording = folder.file("snapshot.hlr");
        let mut snapshot = Heaplens::bare(["snapshot", "--format", "json", "-o"]);
        let mut snapshot = snapshot.arg(&recording).arg(child_of(run.id()).to_string());
        // Into a file: nobody reads a pipe while lines are being sent.
        let json = folder.file("snapshot.json");
        snapshot = snapshot.stdout(File::create(&json).expect("a file")).stderr(Stdio::piped());
        let mut asking = snapshot.spawn().expect("heaplens starts");
        let (mut sent, mut last) = (0, String::new());
        while asking.try_wait().expect("it is a child").is_none() {
            lines.write_all(b"more\n").expect("the program listens");
            last.clear();
            output.read_line(&mut last).expect("the program answers");
            sent += 1;
        }
        drop(lines);
        let answer = asking.wait_with_output().expect("it ended");
        let talk = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(answer.status.success() && !talk.contains("did not"), "Python {}: {talk}", python.version);
        let report = Report::parse(&std::fs::read(&json).expect("a report"));
        assert!(field(&report, "collected", "rss_after") > 0 && field(&report, "trimmed", "rss_after") > 0);
        assert_eq!(said(&last, "lines"), sent, "every line was read");
        output.read_to_end(&mut Vec::new()).expect("the program ends");
        assert!(run.wait().expect("heaplens ends").success());
    }
}
