//! Cost follows what is live and how many stacks there are, never how many events there were.

use crate::harness::{Finished, Heaplens, program};
use crate::python::{interpreters, script};

const LIMIT: u64 = 64 << 20;

/// 10⁸ pairs in `cargo test`; the soak asks for more.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_hundred_million_pairs_stay_below_64_mebibytes() {
    let pairs = std::env::var("HEAPLENS_PAIRS").unwrap_or_else(|_| "100000000".to_owned());
    let run = Heaplens::on(&program("pairs.c"), &[]).arg(pairs).finish().expect_status(0);
    let recording = run.recording().metadata().expect("there is a recording").len();
    let arena = run.report().arena_bytes();
    assert!(recording < LIMIT, "the recording has {recording} bytes");
    assert!(arena < LIMIT, "the arena has {arena} bytes");
    run.assert_exact();
}

#[test]
fn more_events_do_not_make_a_larger_recording() {
    let size = |pairs: &str| {
        let run = Heaplens::on(&program("pairs.c"), &["--passive"]).arg(pairs).finish().expect_status(0);
        let report = run.report();
        (report.sites().len(), report.arena_bytes())
    };
    // Both run for long enough to have marks, which the recorder makes by time; the reclaim test at exit is left out, since it
    // depends on how many there are.
    assert_eq!(size("3000000"), size("30000000"));
}

const MOST_OF_A_LOOP: u64 = 32 << 20;
const ITERATIONS: u64 = 1_000_000;

/// A million iterations of a loop; the recording, and how many of them were counted.
fn a_million_iterations(more: &[&str]) -> Finished {
    let run = Heaplens::on(interpreters::any(), &["--quiet"]).arg(script("python_many_passes.py"));
    let run = run.arg(ITERATIONS.to_string());
    let run = more.iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0);
    let recording = run.recording().metadata().expect("there is a recording").len();
    assert!(recording < MOST_OF_A_LOOP, "the recording has {recording} bytes");
    let report = run.report();
    let counted = report.0["iterations"]["count"].as_u64().expect("the loop is found");
    assert!(counted.abs_diff(ITERATIONS) < ITERATIONS / 100, "{counted} iterations");
    assert!(report.arena_bytes() < LIMIT, "the arena has {} bytes", report.arena_bytes());
    run
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_million_iterations_make_a_recording_below_32_mebibytes() {
    a_million_iterations(&[]);
}

/// The last of the user's marks is never lost.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_million_marks_make_a_recording_below_32_mebibytes() {
    let run = a_million_iterations(&["marked"]);
    let marks = run.report().0["marks"].clone();
    let labels = marks.as_array().into_iter().flatten().map(|mark| &mark["label"]);
    let last = format!("pass {}", ITERATIONS - 1);
    assert!(labels.into_iter().any(|label| *label == last.as_str()), "no `{last}`");
}
