//! Memory that TensorFlow's own threads allocate belongs to the line that made the operation that they run.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Finished, Heaplens, besides, skip};
use crate::python::script;

const PROGRAM: &str = "tf_workers.py";

/// A line, and what is kept of it: bytes and blocks.
type Kept = (u64, [u64; 2]);

/// A run of the program; none without TensorFlow.
fn ran(test: &str, options: &[&str], kind: &str) -> Option<Finished> {
    let Some(python) = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from) else {
        skip(
            &format!("tensorflow_workers::{test}"),
            "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow",
        );
        return None;
    };
    let run = Heaplens::on(&python, options).arg(script(PROGRAM)).arg(kind);
    let run = run.env("TF_CPP_MIN_LOG_LEVEL", "3").finish().expect_status(0);
    Some(run)
}

/// What a program says of itself, and the heaviest stacks of its own lines.
fn reported(test: &str, options: &[&str], kind: &str) -> Option<(Vec<Kept>, Vec<Kept>)> {
    let run = ran(test, options, kind)?;
    let said = run.stdout();
    let mut truth: Vec<Kept> = said.lines().filter_map(|line| kept(line.strip_prefix("truth ")?)).collect();
    let report = run.report().whole();
    let mut seen: Vec<Kept> = report["sites"].as_array().expect("sites").iter().filter_map(held).collect();
    seen.sort_by_key(|(_, [bytes, _])| std::cmp::Reverse(*bytes));
    seen.truncate(truth.len().max(1));
    truth.sort_unstable();
    seen.sort_unstable();
    Some((truth, seen))
}

fn kept(words: &str) -> Option<Kept> {
    let numbers: Vec<u64> = words.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [line, blocks, bytes] = numbers[..] else { return None };
    Some((line, [bytes, blocks]))
}

/// What the stack of a site holds at the end of the script, where its line is the program's own.
fn held(site: &Value) -> Option<Kept> {
    let is_own = |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with(PROGRAM));
    let line = site["stack"].as_array()?.iter().find(is_own)?["line"].as_u64()?;
    Some((line, [site["held_bytes"].as_u64()?, site["held_blocks"].as_u64()?]))
        .filter(|_| site["kind"] == "heap")
}

fn assert_at_its_line(test: &str, kind: &str) {
    let Some((truth, seen)) = reported(test, &[], kind) else { return };
    assert!(!truth.is_empty(), "{kind}: the program says nothing");
    assert_eq!(seen, truth, "{kind}");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_function_gives_is_at_the_line_inside_it() {
    let test = "what_a_function_gives_is_at_the_line_inside_it";
    for kind in ["plain"].iter().chain(besides(&["rewritten"])) {
        assert_at_its_line(test, kind);
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_session_or_a_pipeline_gives_is_at_the_line_that_made_it() {
    let test = "what_a_session_or_a_pipeline_gives_is_at_the_line_that_made_it";
    assert_at_its_line(test, "session");
    assert_at_its_line(test, "pipeline");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn calls_at_the_same_time_are_distinguished() {
    assert_at_its_line("calls_at_the_same_time_are_distinguished", "concurrent");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_name_that_two_lines_have_is_nobodys() {
    // Folded, the import of TensorFlow would be the heaviest line.
    let options = ["--imports=full"];
    let Some((_, seen)) = reported("a_name_that_two_lines_have_is_nobodys", &options, "shared") else {
        return;
    };
    assert!(seen.iter().all(|(_, [bytes, _])| *bytes < 8 << 20), "no line has the 40 MiB: {seen:?}");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn nothing_is_known_of_tensorflow_where_that_is_asked_for() {
    let test = "nothing_is_known_of_tensorflow_where_that_is_asked_for";
    let Some((truth, seen)) = reported(test, &["--frameworks=no"], "plain") else { return };
    assert!(truth.iter().all(|kept| !seen.contains(kept)), "{seen:?}");
}

/// The line inside the function allocates, the line that calls it keeps: one cause, one finding.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_function_gives_and_a_list_keeps_is_one_finding() {
    let Some(run) = ran("what_a_function_gives_and_a_list_keeps_is_one_finding", &[], "plain") else {
        return;
    };
    let findings = run.report().0["findings"].as_array().expect("findings").clone();
    let reported: Vec<(&str, u64)> = findings
        .iter()
        .filter_map(|finding| Some((finding["rule"].as_str()?, finding["location"]["line"].as_u64()?)))
        .collect();
    let said = run.stdout();
    let keeps = said.lines().find_map(|line| line.strip_prefix("keeps ")?.parse().ok()).expect("a line");
    assert_eq!(reported, [("C8", keeps)], "{findings:#?}");
    let bytes = findings[0]["bytes_per_iteration"].as_f64().expect("bytes");
    assert!((bytes / f64::from(1 << 20) - 1.0).abs() < 0.1, "{bytes} B per iteration");
}
