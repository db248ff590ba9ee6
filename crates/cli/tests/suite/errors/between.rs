//! Canaries that are checked in heap snapshots while the program runs: between which of them bytes were changed, and blocks that nobody looks at
//! afterwards.

use std::path::PathBuf;

use serde_json::Value;

use super::truth::{Checked, checked};
use crate::harness::program_with;

const HEADERS: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../agent/include");

fn program() -> PathBuf {
    program_with("overrun_between.c", "overrun_between", &[HEADERS]).expect("an ordinary program compiles")
}

fn only_error(run: &Checked) -> &Value {
    let errors = run.report["errors"].as_array().expect("a list of errors");
    assert_eq!(errors.len(), 1, "{}", run.stderr());
    &errors[0]
}

/// The moments between which the bytes were changed. The program asked for a snapshot before and after it.
fn moments(error: &Value) -> (f64, f64) {
    let at = |key: &str| error[key].as_f64().unwrap_or_else(|| panic!("no {key} in {error}"));
    (at("intact_at_seconds"), at("changed_at_seconds"))
}

#[test]
fn the_snapshots_between_which_bytes_were_changed_are_reported() {
    let run = checked(&[], &program(), &["freed"]);
    let error = only_error(&run);
    let (intact, changed) = moments(error);
    assert!(intact < changed, "{error}");
    assert_eq!(error["text"], "Invalid write, found when the block was freed");
    assert!(run.stderr().contains("   The bytes were intact at "), "{}", run.stderr());
}

#[test]
fn a_block_that_was_damaged_when_the_program_was_killed_is_reported() {
    let run = checked(&[], &program(), &["killed"]);
    let error = only_error(&run);
    let (intact, changed) = moments(error);
    assert!(intact < changed, "{error}");
    assert_eq!(error["text"], "Invalid write, found while the program ran");
    assert_eq!((&error["bytes"], &error["count"]), (&Value::from(24), &Value::from(1)));
    let allocated = error["allocated"].as_array().expect("a stack");
    assert!(allocated.iter().any(|frame| frame["function"] == "main"), "{error}");
}

#[test]
fn bytes_that_stay_as_they_are_are_no_error() {
    let run = checked(&[], &program(), &["whole"]);
    assert_eq!(run.report["errors"].as_array().map(Vec::len), Some(0), "{}", run.stderr());
}
