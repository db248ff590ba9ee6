//! The end of native programs: the reclaim test there before their destructors run, and that they do not notice.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Finished, Heaplens, program};

const MIB: f64 = (1 << 20) as f64;

/// How the program of `leaves.cpp` may leave, and whether a reclaim test runs then.
const EXITS: [(&str, bool); 11] = [
    ("return", true),
    ("exit", true),
    ("thread", true),
    ("twice", true),
    ("fork", true),
    ("vfork", true),
    ("signal", false),
    ("_exit", false),
    ("quick", false),
    ("pthread_exit", false),
    ("throw", false),
];

fn leave(kind: &str, options: &[&str]) -> Finished {
    let options = [&["-q"], options].concat();
    Heaplens::on(&program("leaves.cpp"), &options).arg(kind).finish()
}

fn trimmed(run: &Finished) -> Option<u64> {
    let returns = &run.report().0["returns"]["trimmed"];
    Some(returns["rss_before"].as_u64()?.saturating_sub(returns["rss_after"].as_u64()?))
}

/// The status as a shell reports it, which is how a recorder hands on the signal of its program.
fn status(output: &std::process::Output) -> Option<i32> {
    output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal))
}

#[test]
fn every_kind_of_exit_has_the_status_the_output_and_the_order_that_it_has_alone() {
    for (kind, is_tested) in EXITS {
        let alone = Command::new(program("leaves.cpp")).arg(kind).output().expect("it starts");
        let run = leave(kind, &[]);
        assert_eq!(run.stdout(), String::from_utf8_lossy(&alone.stdout), "{kind}");
        assert_eq!(status(&run.output), status(&alone), "{kind}: {}", run.stderr());
        assert_eq!(trimmed(&run).is_some(), is_tested, "{kind}: {}", run.report().0["returns"]);
    }
}

#[test]
fn a_passive_run_makes_no_reclaim_test_at_exit() {
    assert_eq!(trimmed(&leave("return", &["--passive"])), None);
}

#[test]
fn what_the_end_shows_was_read_before_memory_was_given_back() {
    let run = leave("return", &[]);
    let (report, returned) = (run.report(), trimmed(&run).expect("the reclaim test ran"));
    assert!(returned > 4 << 20, "{returned} bytes of holes came back");
    let end = report.0["rss"]["end"].as_u64().expect("it is known");
    let before = report.0["returns"]["trimmed"]["rss_before"].as_u64().expect("the reclaim test ran");
    assert!(end.abs_diff(before) < 1 << 20, "{end} at the end, {before} before the trim");
}

#[test]
fn stacks_show_main_as_called_by_libc() {
    let run = leave("return", &[]);
    let text = std::fs::read_to_string(run.folder.file("run.json")).expect("a report");
    assert!(text.contains("__libc_start"), "frames around main are there");
    assert!(!text.contains("libheaplens"), "ours is not");
}

#[test]
fn fragmentation_by_threads_is_proved_with_the_memory_that_trimming_returns() {
    let program = program("fragments.c");
    let alone = Command::new(&program).arg("trims").output().expect("it starts");
    let said = String::from_utf8_lossy(&alone.stdout).into_owned();
    let own: f64 = said.trim().strip_prefix("trimmed ").and_then(|n| n.parse().ok()).expect("it says so");
    let report = Heaplens::on(&program, &["-q"]).arg("ends").finish().expect_status(0).report();
    let findings = report.0["findings"].as_array().expect("findings");
    let found: Vec<&Value> = findings.iter().map(|finding| &finding["rule"]).collect();
    assert_eq!(found, ["C25"], "{findings:#?}");
    assert_eq!(report.0["verdict"], "growth");
    let evidence = findings[0]["evidence"].as_array().expect("evidence");
    let proof = evidence.iter().find(|one| one["what"] == "bytes that came back when asked for");
    let returned = proof.and_then(|one| one["value"].as_f64()).expect("a proof");
    assert!((returned / own - 1.0).abs() < 0.1, "{} MiB, by itself {} MiB", returned / MIB, own / MIB);
}
