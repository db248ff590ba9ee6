//! Trees of processes: the page is about the worst of them, equal workers are one, and what others have follows.

use heaplens_analyze::profile;
use heaplens_format::recording::{Decoded, Exit, Process, ProcessEnd};
use heaplens_format::{Loss, Nanos, Pid};
use heaplens_report::{html, text};
use serde_json::Value;

use super::sample::python::{growing, script};
use super::{parsed, profiled, written};

const PARENT: u32 = 4711;

fn lived(process: Process, pid: u32, forked: bool) -> Process {
    Process {
        pid: Pid::new(pid),
        parent: Pid::new(if pid == PARENT { 1 } else { PARENT }),
        forked,
        end: ProcessEnd::Ended(Exit::Code(0)),
        start: Nanos::new(1),
        finish: Nanos::new(1_000_000_000),
        ..process
    }
}

/// A script that does not grow, and so many forked workers that do.
fn workers(count: u32) -> Decoded {
    let mut decoded = script("/home/user/shop/train.py");
    let worker = growing("/home/user/shop/train.py").recording.processes.remove(0);
    let parent = decoded.recording.processes.remove(0);
    decoded.recording.run.exit = Some(Exit::Code(0));
    decoded.recording.processes = vec![lived(parent, PARENT, false)];
    decoded.recording.processes.extend((1..=count).map(|n| lived(worker.clone(), PARENT + n, true)));
    decoded
}

#[test]
fn the_page_of_workers_that_grow() {
    let page = written(text::write, &profiled(&workers(8)));
    assert_eq!(page.matches("8 workers, each RSS ").count(), 1, "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn the_json_has_the_verdict_of_each_process_and_of_the_tree() {
    let report = parsed(&profiled(&workers(3)));
    let rows = report["processes"].as_array().unwrap();
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, ["clean", "leak", "leak", "leak"]);
    assert_eq!((&report["pid"], &report["verdict"]), (&Value::from(PARENT + 1), &Value::from("leak")));
    assert_eq!(
        (&report["tree"]["verdict"], &report["tree"]["worst_pid"]),
        (&"leak".into(), &(PARENT + 1).into())
    );
    assert_eq!(rows[1]["findings"], report["findings"]);
    assert_eq!(rows[0]["findings"], Value::Array(Vec::new()));
    assert_eq!((&rows[0]["role"], &rows[2]["role"]), (&Value::Null, &"3 workers".into()));
    assert!(rows[3]["bytes_per_iteration"].as_f64().unwrap() > 400_000.0, "{}", rows[3]);
}

#[test]
fn another_process_can_be_asked_for_and_the_tree_is_the_same() {
    let found = profile(&workers(2), Some(Pid::new(PARENT))).unwrap();
    let report = parsed(&found);
    assert_eq!((&report["verdict"], &report["tree"]["verdict"]), (&"clean".into(), &"leak".into()));
    let page = written(text::write, &found);
    assert!(page.contains("2 workers, each RSS ") && page.contains("train.py:5"), "{page}");
    let markup = written(html::write, &found);
    assert!(
        markup.contains("2 workers, each RSS ") && markup.contains("finding-1"),
        "findings of workers follow"
    );
}

#[test]
fn a_single_worker_is_named_and_losses_of_all_processes_are_told() {
    let mut decoded = workers(1);
    decoded.recording.processes[0].losses = vec![(Loss::MarkLost, 3)];
    decoded.recording.processes[1].losses = vec![(Loss::MarkLost, 4), (Loss::Reentered, 2)];
    let page = written(text::write, &profiled(&decoded));
    assert!(page.contains("  forked process 4712: RSS "), "{page}");
    assert!(page.contains("  process         4712 (forked by process 4711)\n"), "{page}");
    assert!(page.contains("    7 marks that were not made (in 2 processes)\n"), "{page}");
    let losses = parsed(&profiled(&decoded))["tree"]["losses"].clone();
    let counts: Vec<u64> =
        losses.as_array().unwrap().iter().map(|loss| loss["count"].as_u64().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u64>(), 9, "{losses}");
}
