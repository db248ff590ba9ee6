//! Iterations that become slower are evidence for what grows, and nothing where nothing grows.

use serde_json::Value;

use super::{python, write};
use crate::harness::{Folder, Heaplens};

/// All that was kept is compared with all that was kept: each quarter of the run takes about twice as long as the one before it, or
/// more, so that what else the machine does cannot hide it. CPU time is read every 20 ms, on a busy machine more seldom, and where the
/// readings are too far apart nothing is said: the run is as long as it takes to say it of readings 90 ms apart, about four seconds.
const COMPARES: &str = "kept = []\nfor step in range(1250):\n    kept.append(bytearray(5_000))\n    sum(1 for one in kept for other in kept[::4] if one is other)\n";
/// The same work each time.
const KEEPS: &str = "kept = []\nfor step in range(600):\n    kept.append(bytearray(5_000))\n    sum(1 for one in range(16_000) if one)\n";
/// Ever more work, and nothing is kept.
const WORKS: &str =
    "for step in range(600):\n    data = bytearray(5_000)\n    sum(1 for one in range(80 * step) if one)\n";

/// The findings, and the page.
fn run(text: &str) -> (Vec<Value>, String) {
    let folder = Folder::new();
    let script = folder.file("slowing.py");
    write(&script, text);
    let run = Heaplens::on(python(), &[]).arg(script).finish().expect_status(0);
    (run.report().0["findings"].as_array().cloned().unwrap_or_default(), run.stderr())
}

fn seconds(finding: &Value, when: &str) -> Option<f64> {
    let what = format!("CPU seconds per iteration at {when}");
    let found = finding["evidence"].as_array()?.iter().find(|one| one["what"] == what.as_str())?;
    found["value"].as_f64()
}

#[test]
fn a_loop_that_compares_what_it_keeps_slows_down_and_the_finding_says_so() {
    let (findings, page) = run(COMPARES);
    let times = (seconds(&findings[0], "first"), seconds(&findings[0], "last"));
    let (Some(first), Some(last)) = times else { panic!("{page}") };
    assert!(
        last > 2.0 * first,
        "from a fifth of the list on average to nine tenths of it, squared: {times:?}"
    );
    assert_eq!(page.matches("iterations slow down: ").count(), 1, "{page}");
}

#[test]
fn a_loop_that_slows_down_and_keeps_nothing_is_no_finding() {
    let (findings, page) = run(WORKS);
    assert!(findings.is_empty() && !page.contains("slow down"), "{page}");
}

#[test]
fn a_loop_that_takes_as_long_each_time_has_no_such_evidence() {
    let (findings, page) = run(KEEPS);
    assert!(findings.len() == 1 && !page.contains("slow down"), "{page}");
}
