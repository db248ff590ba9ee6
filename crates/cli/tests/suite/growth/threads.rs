//! Threads that become more and more: found with the line that starts them, alone or not at all.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{brief, python, write};
use crate::harness::{Finished, Folder, Heaplens, program};

const SOURCE: &str = "growing_threads.c";

/// Threads that wait until the end, one more with each iteration.
/// Each goes some way down its stack first: what Python keeps for a thread is little beside that.
const LIVING: &str = "import json, threading\nend, deep = threading.Event(), '[' * 400 + ']' * 400\nfor step in range(120):\n    threading.Thread(target=lambda: end.wait(json.loads(deep) and None)).start()  # here\nend.set()\n";
/// A pool that fills and then has enough.
const POOL: &str = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(12) as pool:\n    for step in range(200):\n        pool.submit(sum, range(50)).result()\n";
/// Each is joined before the next.
const JOINED: &str = "import threading\nfor step in range(200):\n    one = threading.Thread(target=len, args=((),))\n    one.start()\n    one.join()\n";

fn native(words: &[&str], options: &[&str]) -> Finished {
    let run = Heaplens::on(&program(SOURCE), options);
    words.iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0)
}

fn scripted(text: &str, options: &[&str]) -> Finished {
    let folder = Folder::new();
    let script = folder.file("threads.py");
    write(&script, text);
    Heaplens::on(python(), options).arg(script).finish().expect_status(0)
}

/// The one finding of a run.
fn finding(run: &Finished) -> Value {
    let report = run.report().0;
    let findings = report["findings"].as_array().expect("a list");
    assert_eq!((report["verdict"].as_str(), findings.len()), (Some("leak"), 1), "{report:#}");
    findings[0].clone()
}

fn evidence(finding: &Value, what: &str) -> f64 {
    let all = finding["evidence"].as_array().expect("a list");
    all.iter()
        .find(|one| one["what"] == what)
        .map_or(f64::NAN, |one| one["value"].as_f64().unwrap_or(f64::NAN))
}

/// What the program said it did: `started 200 seconds 0.080`.
fn started_and_seconds(run: &Finished) -> (f64, f64) {
    let text = run.stdout();
    let mut words = text.lines().find(|line| line.starts_with("started ")).expect("it said so").split(' ');
    let mut number = |at| words.nth(at).and_then(|word| word.parse().ok()).expect("a number");
    (number(1), number(1))
}

fn line_of(source: &Path, words: &str) -> u64 {
    let text = std::fs::read_to_string(source).expect("the source is there");
    1 + text.lines().position(|line| line.contains(words)).expect("it says so") as u64
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(SOURCE)
}

fn assert_started_here(finding: &Value, verdict: &str) {
    assert_eq!((&finding["rule"], &finding["name"]), (&"C31".into(), &"threads".into()));
    assert_eq!((&finding["verdict"], &finding["layer"]), (&verdict.into(), &"thread-stacks".into()));
    assert_eq!(
        finding["location"]["line"],
        line_of(&source(), "the line that starts them"),
        "{}",
        brief(finding)
    );
}

#[test]
fn threads_that_never_end_are_found_at_the_line_that_starts_them() {
    let run = native(&["living", "200", "2"], &[]);
    let found = finding(&run);
    assert_started_here(&found, "leak (your code)");
    assert!((evidence(&found, "threads per iteration") - 1.0).abs() < 0.02, "{found}");
    assert_eq!(
        evidence(&found, "threads whose stacks are left"),
        199.0,
        "before the last iteration: {found}"
    );
    // Each of them writes to 20,000 bytes of its stack.
    let bytes = found["bytes_per_iteration"].as_f64().unwrap_or_default();
    assert!((20_000.0..40_000.0).contains(&bytes), "{bytes}");
    let page = run.stderr();
    assert!(page.contains("Thread growth: threads are started and do not exit"), "{page}");
    assert!(page.contains("1.0 more per iteration · still running"), "{page}");
}

#[test]
fn threads_that_nobody_joins_are_found_though_they_have_ended() {
    let run = native(&["unjoined", "300", "2"], &[]);
    let found = finding(&run);
    assert_started_here(&found, "leak (your code)");
    assert!((evidence(&found, "threads per iteration") - 1.0).abs() < 0.02, "{found}");
    assert!(found["fix"].as_str().is_some_and(|fix| fix.contains("join")), "{found}");
}

#[test]
fn threads_are_counted_per_second_where_there_is_no_loop() {
    for mode in ["living", "unjoined"] {
        let run = native(&[mode, "150", "20", "unmarked"], &[]);
        let (started, seconds) = started_and_seconds(&run);
        let found = finding(&run);
        assert_started_here(&found, "leak (your code)");
        let pace = evidence(&found, "threads per iteration");
        assert!((pace / (started / seconds) - 1.0).abs() < 0.2, "{mode}: {pace} of {started} in {seconds} s");
    }
}

#[test]
fn a_pool_that_fills_and_threads_that_are_joined_are_no_growth() {
    for words in [
        &["pool", "300"][..],
        &["joined", "300"],
        &["pool", "150", "10", "unmarked"],
        &["joined", "150", "10", "unmarked"],
    ] {
        let report = native(words, &["-q"]).report().0;
        assert!(
            ["clean", "plateau"].contains(&report["verdict"].as_str().unwrap_or_default()),
            "{words:?}: {report}"
        );
    }
    for text in [POOL, JOINED] {
        let report = scripted(text, &["-q"]).report().0;
        let briefs: Vec<Value> = report["findings"].as_array().into_iter().flatten().map(brief).collect();
        assert_eq!(briefs, Vec::<Value>::new(), "{text}");
    }
}

#[test]
fn python_threads_are_found_at_the_line_that_starts_them() {
    let found = finding(&scripted(LIVING, &[]));
    assert_eq!((&found["rule"], &found["location"]["line"]), (&"C31".into(), &4.into()), "{}", brief(&found));
    assert_eq!(found["verdict"], "leak (your code)");
    assert!((evidence(&found, "threads per iteration") - 1.0).abs() < 0.02, "{found}");
}
