//! References that native code takes to objects of Python: given back, or forgotten.

use serde_json::Value;

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Heaplens};

fn recorded(python: &Interpreter, kind: &str) -> Finished {
    Heaplens::on(&python.path, &[]).arg(script("python_references.py")).arg(kind).finish().expect_status(0)
}

fn findings(run: &Finished) -> Vec<Value> {
    run.report().0["findings"].as_array().expect("findings").clone()
}

/// One finding explains all growth: the rule, the line and the pace that the program says.
fn assert_found(python: &Interpreter, kind: &str) -> Value {
    let run = recorded(python, kind);
    let (said, found) = (run.stdout(), findings(&run));
    let truth: Vec<&str> = said.trim().split(' ').collect();
    let ["truth", rule, line, bytes, iterations] = truth[..] else { panic!("{said}") };
    let version = &python.version;
    let rules: Vec<&str> = found.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules, [rule], "Python {version}: {found:#?}");
    assert_eq!(found[0]["location"]["line"].to_string(), line, "Python {version}");
    assert_eq!(run.report().0["iterations"]["count"].to_string(), iterations, "Python {version}");
    let truth: f64 = bytes.parse().expect("a number");
    let pace = found[0]["bytes_per_iteration"].as_f64().expect("a number");
    assert!((pace - truth).abs() <= 0.1 * truth, "Python {version}: {pace} and not {truth}");
    found[0].clone()
}

#[test]
fn objects_without_referrers_are_reported_as_reference_leaks() {
    for python in
        interpreters::some("python::references::objects_without_referrers_are_reported_as_reference_leaks")
    {
        let finding = assert_found(&python, "forgotten");
        assert_eq!(finding["holder"]["path"][0], "no one: only its reference count", "{}", python.version);
    }
}

#[test]
fn objects_that_the_program_keeps_are_its_own() {
    for python in interpreters::some("python::references::objects_that_the_program_keeps_are_its_own") {
        assert_found(&python, "listed");
    }
}

#[test]
fn references_that_are_given_back_are_clean() {
    for python in interpreters::some("python::references::references_that_are_given_back_are_clean") {
        assert_eq!(findings(&recorded(&python, "returned")), Vec::<Value>::new(), "{}", python.version);
    }
}
