//! Growth beside findings: lines of the ledger, iterations that slow down, processes that share memory.

use heaplens_format::recording::Decoded;
use heaplens_format::{Nanos, Pid};
use heaplens_report::text;
use serde_json::Value;

use super::sample::python::{growing, growing_with_ledgers};
use super::{parsed, profiled, written};

/// The `bytes_per_iteration` of a layer.
fn pace_of(report: &Value, layer: &str) -> Value {
    let rows = report["ledger"].as_array().unwrap();
    rows.iter().find(|row| row["layer"] == layer).unwrap()["bytes_per_iteration"].clone()
}

#[test]
fn a_line_of_the_ledger_says_how_fast_it_grows() {
    let profile = profiled(&growing_with_ledgers(10));
    let report = parsed(&profile);
    let native = pace_of(&report, "native").as_f64().unwrap();
    assert!((native / (400.0 * 1024.0) - 1.0).abs() < 0.01, "{native}");
    assert_eq!(pace_of(&report, "python"), 0.0);
    let page = written(text::write, &profile);
    assert!(page.contains("start      peak       end   per iteration\n"), "{page}");
    assert!(
        page.contains("    native blocks                  3.5        39        39         400 KiB\n"),
        "{page}"
    );
    assert!(
        page.contains("    Python objects                  60        60        60               –\n"),
        "{page}"
    );
}

#[test]
fn few_ledgers_give_no_growth() {
    let profile = profiled(&growing_with_ledgers(4));
    let report = parsed(&profile);
    assert_eq!((pace_of(&report, "native"), pace_of(&report, "python")), (().into(), ().into()));
    assert!(!written(text::write, &profile).contains("end   per iteration"));
}

#[test]
fn iterations_that_slow_down_are_evidence_of_the_first_finding_and_no_finding_themselves() {
    let slow = |mut decoded: Decoded| {
        let process = &mut decoded.recording.processes[0];
        for (pass, (mark, reading)) in (1u64..).zip(process.marks.iter_mut().zip(&mut process.timeline)) {
            mark.at = Nanos::new(pass * 10_000_000 + pass * pass * 200_000);
            (reading.at, reading.cpu) = (mark.at, mark.at);
        }
        decoded
    };
    let profile = profiled(&slow(growing("/home/user/shop/train.py")));
    let page = written(text::write, &profile);
    // The means from mark 11 to mark 34 and from mark 78 to mark 100.
    assert_eq!(page.matches("iterations slow down: 19.0 ms → 45.6 ms of CPU time").count(), 1, "{page}");
    let report = parsed(&profile);
    let evidence = report["findings"][0]["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|one| one["what"] == "CPU seconds per iteration at last"), "{evidence:?}");
    let mut still = slow(growing("/home/user/shop/train.py"));
    still.recording.processes[0].histories.clear();
    still.recording.processes[0].timeline.clear();
    assert_eq!(parsed(&profiled(&still))["findings"], serde_json::json!([]));
}

#[test]
fn processes_that_share_memory_have_one_line() {
    let mut decoded = growing_with_ledgers(10);
    let alone = written(text::write, &profiled(&decoded));
    let mut worker = decoded.recording.processes[0].clone();
    (worker.pid, worker.parent) = (Pid::new(4720), worker.pid);
    decoded.recording.processes.push(worker);
    for process in &mut decoded.recording.processes {
        process.finish = Nanos::new(2_500_000_000);
    }
    let profile = profiled(&decoded);
    let line = "  process tree    2 processes at 2.00 s: PSS 100 MiB · USS 80.0 MiB · RSS 197 MiB (including Heaplens)";
    let page = written(text::write, &profile);
    assert!(page.contains(line) && !alone.contains("process tree"), "{page}");
    let tree = &parsed(&profile)["ledger_details"]["tree"];
    assert_eq!((&tree["processes"], &tree["pss"]), (&2.into(), &(100u64 << 20).into()));
}
