//! Memory that is mapped where no hook is: the growth is reported by the mapping's name, and once.

use std::path::Path;

use serde_json::Value;

use super::{NEAR, NEAR_BY_TIME, brief};
use crate::harness::{Finished, Heaplens, program};

const SOURCE: &str = "growing_mappings.c";
const SIZE: f64 = (1 << 18) as f64;

fn run(words: &[&str]) -> Finished {
    let run = Heaplens::on(&program(SOURCE), &[]);
    words.iter().fold(run, |run, word| run.arg(word)).finish().expect_status(0)
}

/// The one finding of a run with this verdict.
fn finding(run: &Finished, verdict: &str) -> Value {
    let report = run.report().0;
    let findings = report["findings"].as_array().expect("a list");
    let briefs: Vec<Value> = findings.iter().map(brief).collect();
    assert_eq!((report["verdict"].as_str(), findings.len()), (Some(verdict), 1), "{briefs:?}");
    findings[0].clone()
}

fn assert_slope(finding: &Value, truth: f64, near: f64) {
    let slope = finding["bytes_per_iteration"].as_f64().unwrap_or(f64::NAN);
    assert!((slope / truth - 1.0).abs() <= near, "{slope} where {truth} is true");
}

/// Bytes per second that the program mapped: it says how long it took.
fn pace(run: &Finished) -> f64 {
    let text = run.stdout();
    let line = text.lines().find(|line| line.starts_with("passes ")).expect("it said so");
    let words: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    words[0] * SIZE / words[1]
}

#[test]
fn memory_mapped_by_raw_system_calls_is_named_with_its_growth() {
    for (iterations, milliseconds) in [("150", "20"), ("200", "4")] {
        let run = run(&["raw", iterations, milliseconds]);
        let found = finding(&run, "growth-unexplained");
        assert_eq!((&found["rule"], &found["name"]), (&"G6".into(), &"mapping-growth".into()));
        assert_eq!(found["mapping"], "anonymous, without a name");
        assert_eq!((&found["verdict"], &found["layer"]), (&"unexplained".into(), &"mapped-anonymous".into()));
        assert_slope(&found, SIZE, NEAR);
        let page = run.stderr();
        assert!(page.contains("A mapping grows, but its creation was not intercepted"), "{page}");
    }
}

#[test]
fn a_mapping_with_a_name_is_reported_by_it() {
    let run = run(&["file", "150", "20"]);
    let found = finding(&run, "growth-unexplained");
    assert_eq!(found["rule"], "G6");
    let report = run.report().0;
    let rows = report["ledger"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["layer"] == "mapped-anonymous").expect("all layers are there");
    assert_slope(row, SIZE, 2.0 * NEAR);
    assert!(run.stderr().contains("end   per iteration"), "{}", run.stderr());
    assert!(found["mapping"].as_str().is_some_and(|name| name.starts_with("/memfd:frames")), "{found}");
    assert_slope(&found, SIZE, NEAR);
}

#[test]
fn mappings_are_reported_per_second_where_there_is_no_loop() {
    let raw = run(&["raw", "150", "20", "unmarked"]);
    let found = finding(&raw, "growth-unexplained");
    assert_eq!((&found["rule"], &found["mapping"]), (&"G6".into(), &"anonymous, without a name".into()));
    assert_slope(&found, pace(&raw), NEAR_BY_TIME);
    let seen = run(&["libc", "150", "20", "unmarked"]);
    let found = finding(&seen, "leak");
    assert_eq!((&found["rule"], &found["location"]["line"]), (&"G1".into(), &line_that_maps().into()));
    assert_slope(&found, pace(&seen), NEAR_BY_TIME);
}

fn line_that_maps() -> u64 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(SOURCE);
    let text = std::fs::read_to_string(source).expect("the source is there");
    1 + text.lines().position(|line| line.contains("the line that maps")).expect("it says so") as u64
}

#[test]
fn a_line_that_is_seen_to_map_has_its_growth_alone() {
    let found = finding(&run(&["libc", "150", "10"]), "leak");
    assert_eq!((&found["rule"], &found["location"]["line"]), (&"G1".into(), &line_that_maps().into()));
    assert_slope(&found, SIZE, NEAR);
}

#[test]
fn memory_that_is_mapped_once_is_no_growth() {
    for words in [&["once", "150", "10"][..], &["once", "150", "10", "unmarked"]] {
        let report = run(words).report().0;
        let briefs: Vec<Value> = report["findings"].as_array().into_iter().flatten().map(brief).collect();
        assert_eq!(briefs, Vec::<Value>::new(), "{words:?}");
    }
}
