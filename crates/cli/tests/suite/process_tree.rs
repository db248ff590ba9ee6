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

/// The reference path of the first finding, as one text.
fn holder(row: &Value) -> String {
    let steps = row["findings"][0]["holder"]["path"].as_array().cloned().unwrap_or_default();
    steps.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ")
}

#[test]
fn what_forked_workers_keep_in_a_variable_of_a_module_is_held_by_it() {
    for how in ["fork", "forkserver"] {
        let run = assert_all_leak(how, 2);
        let report = run.report().0;
        for (pid, _) in said(&run) {
            let path = holder(process(&report, pid));
            assert!(path.contains("KEPT"), "{how}: {path:?}\n{}", run.stderr());
        }
    }
}

#[test]
fn blocks_that_a_forked_child_loses_are_told_from_what_it_inherited() {
    let run = Heaplens::on(&program("fork_loses.c"), &[FAILS]).finish().expect_status(9);
    let stdout = run.stdout();
    let numbers = |word: &str| -> Vec<u64> {
        let line = stdout.lines().find_map(|line| line.strip_prefix(word)).expect("the child speaks");
        line.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    let (child, lost, kept) = (numbers("child ")[0], numbers("lost "), numbers("kept "));
    let report = run.report().0;
    assert_eq!((&report["pid"], &report["verdict"]), (&child.into(), &"lost".into()), "{}", run.stderr());
    let sum = |kind: &str| {
        [&report["lost"][kind]["bytes"], &report["lost"][kind]["blocks"]].map(|n| n.as_u64().unwrap_or(0))
    };
    assert_eq!(sum("definitely").to_vec(), lost, "{:#}", report["lost"]["definitely"]);
    assert_eq!((sum("indirectly"), sum("possibly")), ([0, 0], [0, 0]));
    let [reachable, _] = sum("still_reachable");
    assert!((kept[0]..kept[0] + 65_536).contains(&reachable), "{reachable} B, of which it keeps {}", kept[0]);
    assert_eq!(report["tree"]["verdict"], "lost");
}

#[test]
fn memcheck_reports_what_a_forked_child_lost_and_fails() {
    let mut command = Heaplens::bare(["memcheck", "--leak-check=full", FAILS]);
    let output = command.arg(program("fork_loses.c")).output().expect("heaplens starts");
    let (page, said) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(9), "{page}");
    let of_line = |word: &str| said.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned);
    let child = of_line("child ").expect("the child speaks");
    assert!(page.contains(&format!("  process         {child} (forked by process ")), "{page}");
    assert!(page.contains("200,000 B in 200 blocks definitely lost"), "{page}");
}
