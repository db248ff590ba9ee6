//! Free memory that the allocator keeps between live blocks: named as such, with the bytes that came back, and no leak.

use std::process::Command;

use crate::harness::Heaplens;
use crate::python::{interpreters, script};

/// What the program itself says when it runs alone: `returned BYTES`.
fn returned_alone(python: &std::path::Path) -> f64 {
    let output = Command::new(python).arg(script("python_fragments.py")).arg("trim").output();
    let output = String::from_utf8(output.expect("Python starts").stdout).expect("it speaks UTF-8");
    let bytes = output.lines().find_map(|line| line.strip_prefix("returned "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("it said nothing:\n{output}"))
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn mixed_sizes_from_eight_threads_are_fragmentation_and_no_leak() {
    let python = interpreters::any();
    let alone = returned_alone(python);
    let run = Heaplens::on(python, &["--quiet"]).arg(script("python_fragments.py")).finish().expect_status(0);
    let report = run.report().0;
    let findings = report["findings"].as_array().expect("there are findings");
    let names: Vec<_> = findings.iter().map(|finding| &finding["name"]).collect();
    assert_eq!(names, ["fragmentation"], "{}", report["findings"]);
    let rss = |name: &str| report["returns"]["trimmed"][name].as_f64().expect("it was trimmed");
    let trimmed = rss("rss_before") - rss("rss_after");
    let proved = findings[0]["evidence"][0]["value"].as_f64().expect("the bytes that came back");
    assert!((proved - trimmed).abs() <= 0.1 * trimmed, "{proved} reported, {trimmed} came back");
    // A thread that is not quite gone when the next begins leaves its heap to nobody.
    assert!((proved - alone).abs() <= 0.25 * alone, "{proved} came back, {alone} without Heaplens");
    let fix = findings[0]["fix"].as_str().expect("there is advice");
    assert!(fix.contains("malloc_trim(0)") && fix.contains("jemalloc"), "{fix}");
    assert!(!fix.contains("ARENA_MAX") && !fix.contains("tcmalloc"), "{fix}");
}
