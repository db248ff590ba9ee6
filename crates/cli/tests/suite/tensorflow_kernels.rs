//! Kernels of operations that a program loads: what they keep is reported at their own line, what they hand out is not theirs.

use serde_json::Value;

use crate::harness::Heaplens;
use crate::lost_by_tensorflow::operations;
use crate::python::script;
use crate::python::tensorflow::python;

const KERNELS: &str = include_str!("../../../../tests/programs/leaking_operations.cpp");
const SCRIPT: &str = include_str!("../../../../tests/programs/tf_kernels.py");
/// What each of them loses or hands out.
const BYTES: f64 = 4096.0;

fn lines(source: &str, end: &str) -> Vec<u64> {
    source.lines().zip(1..).filter(|(text, _)| text.ends_with(end)).map(|(_, line)| line).collect()
}

/// Rule and line of each finding, in the order of lines; all are of so many bytes.
fn found(test: &str, kind: &str) -> Option<Vec<(String, u64)>> {
    let python = python(&format!("tensorflow_kernels::{test}"))?;
    let run = Heaplens::on(&python, &[]).arg(script("tf_kernels.py")).arg(operations(&python)).arg(kind);
    let report = run.env("TF_CPP_MIN_LOG_LEVEL", "3").finish().expect_status(0).report().0;
    let rule_and_line = |finding: &Value| {
        let bytes = finding["bytes_per_iteration"].as_f64().expect("a number");
        let is_exact = finding["rule"] == "C19";
        let most = if is_exact { 1.01 * BYTES } else { 1.5 * BYTES };
        assert!((BYTES..most).contains(&bytes.round()), "{bytes} B: {finding:#}");
        let line = finding["location"]["line"].as_u64().expect("a line");
        (finding["rule"].as_str().expect("a rule").to_owned(), line)
    };
    let mut found: Vec<(String, u64)> =
        report["findings"].as_array().expect("findings").iter().map(rule_and_line).collect();
    found.sort();
    Some(found)
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_kernel_loses_is_reported_at_its_line_and_outputs_that_are_kept_are_not_its() {
    let test = "what_a_kernel_loses_is_reported_at_its_line_and_outputs_that_are_kept_are_not_its";
    let Some(found) = found(test, "leaking") else { return };
    let of_kernels = lines(KERNELS, "// definitely 4096 1").into_iter().map(|line| ("C19".to_owned(), line));
    let kept = lines(SCRIPT, "# kept").into_iter().map(|line| ("C8".to_owned(), line));
    assert_eq!(found, of_kernels.chain(kept).collect::<Vec<_>>());
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_kernel_that_gives_back_what_it_makes_is_clean() {
    assert_eq!(found("a_kernel_that_gives_back_what_it_makes_is_clean", "sound").unwrap_or_default(), []);
}
