//! The verdict of a run is that of all its processes: workers that leak are not hidden by a parent that does not.

use serde_json::Value;

use crate::growth::python;
use crate::harness::{Finished, Heaplens, program};
use crate::python::script;

const PROGRAM: &str = "python_workers.py";

/// The status that is asked for where something leaks.
const FAILS: &str = "--error-exitcode=9";

fn workers(how: &str, what: &str, count: &str) -> Finished {
    Heaplens::on(python(), &[FAILS]).arg(script(PROGRAM)).arg(how).arg(what).arg(count).finish()
}

/// What workers say of themselves: who they are, and what they keep.
fn said(run: &Finished) -> Vec<(u64, u64)> {
    let stdout = run.stdout();
    let said = stdout.lines().filter_map(|line| {
        let (pid, bytes) = line.strip_prefix("worker ")?.split_once(" keeps ")?;
        Some((pid.parse().ok()?, bytes.parse().ok()?))
    });
    said.collect()
}

fn process(report: &Value, pid: u64) -> &Value {
    let rows = report["processes"].as_array().expect("rows");
    rows.iter().find(|row| row["pid"] == pid).unwrap_or_else(|| panic!("process {pid}: {rows:#?}"))
}

/// A leak at the line that keeps, of as many bytes as the worker says.
fn assert_leaks(row: &Value, bytes: u64) {
    assert_eq!(row["verdict"], "leak", "{row:#}");
    let finding = &row["findings"][0];
    let file = finding["location"]["file"].as_str().unwrap_or_default();
    assert!(file.ends_with(PROGRAM) && finding["location"]["function"] == "keep", "{finding:#}");
    let count = row["iterations"]["count"].as_f64().expect("iterations");
    let grown = count * finding["bytes_per_iteration"].as_f64().expect("bytes");
    assert!((grown / bytes as f64 - 1.0).abs() < 0.05, "{grown} B instead of {bytes}: {finding:#}");
}

fn assert_all_leak(how: &str, count: usize) -> Finished {
    let run = workers(how, "keep", &count.to_string()).expect_status(9);
    let (report, said) = (run.report().0, said(&run));
    assert_eq!(said.len(), count);
    said.iter().for_each(|&(pid, bytes)| assert_leaks(process(&report, pid), bytes));
    assert_eq!((&report["tree"]["verdict"], &report["verdict"]), (&"leak".into(), &"leak".into()));
    let shown = report["pid"].as_u64().expect("a process is shown");
    assert!(said.iter().any(|&(pid, _)| pid == shown), "the page is about a worker");
    assert_eq!(report["tree"]["worst_pid"], shown);
    run
}

#[test]
fn eight_equal_workers_that_leak_are_one_line_and_fail_the_run() {
    let run = assert_all_leak("fork", 8);
    let (page, report) = (run.stderr(), run.report().0);
    assert_eq!(page.matches("8 workers, each ").count(), 1, "{page}");
    assert!(page.contains("7 workers"), "the others are one row: {page}");
    let roles = said(&run).into_iter().map(|(pid, _)| process(&report, pid)["role"].clone());
    assert!(roles.into_iter().all(|role| role == "8 workers"));
    let parents = report["processes"].as_array().expect("rows").iter().filter(|row| row["forked"] == false);
    let verdicts: Vec<&Value> = parents.map(|row| &row["verdict"]).collect();
    assert!(matches!(verdicts[..], [verdict] if verdict != "leak"), "the parent does not leak: {verdicts:?}");
    let sum: u64 = said(&run).iter().map(|(_, bytes)| bytes).sum();
    assert!(report["tree"]["rss"]["peak"].as_u64() > Some(sum / 2), "{}", report["tree"]);
}

#[test]
fn workers_of_a_fork_server_and_spawned_ones_are_judged_as_well() {
    assert_all_leak("forkserver", 2);
    assert_all_leak("spawn", 2);
}

#[test]
fn programs_that_subprocess_starts_are_judged_as_well() {
    let run = assert_all_leak("subprocess", 1);
    let (pid, _) = said(&run)[0];
    assert_eq!(process(&run.report().0, pid)["forked"], false);
    assert!(run.stderr().contains(&format!("  process {pid} (")), "{}", run.stderr());
}

#[test]
fn a_healthy_pool_of_workers_has_no_finding() {
    for how in ["fork", "forkserver", "subprocess"] {
        let run = workers(how, "drop", "4").expect_status(0);
        let report = run.report().0;
        let verdict = report["tree"]["verdict"].as_str().expect("a verdict");
        assert!(["clean", "plateau"].contains(&verdict), "{how}: {verdict}\n{}", run.stderr());
        let rows = report["processes"].as_array().expect("rows");
        assert!(
            rows.iter().all(|row| row["findings"].as_array().is_some_and(Vec::is_empty)),
            "{how}: {rows:#?}"
        );
    }
}

#[test]
fn one_process_is_its_own_tree() {
    let run = Heaplens::on(&program("peak.c"), &[]).finish().expect_status(0);
    let report = run.report().0;
    let rows = report["processes"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["role"]), (1, &Value::Null));
    for field in ["verdict", "findings", "losses"] {
        assert_eq!(rows[0][field], report[field], "{field}");
    }
    assert_eq!(report["tree"]["verdict"], report["verdict"]);
    assert_eq!(report["tree"]["losses"], report["losses"]);
    for moment in ["start", "peak", "end"] {
        assert_eq!(report["tree"]["rss"][moment], report["rss"][moment], "{moment}");
    }
    assert!(!run.stderr().contains("Other processes"), "{}", run.stderr());
}
