//! Where the kernel lets nobody stop threads and read memory, a program forks a snapshot of itself, which reports its memory.
//! `tests/programs/refuses.c` starts a command that may do neither.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;

use crate::cut_short::Running;
use crate::harness::{Folder, Heaplens, program, shared_library};
use crate::holders::python::{assert_snapshots_are_right, program_that_asks};
use crate::python::interpreters;

/// The same command under a filter of system calls.
fn refused(command: &Command) -> Command {
    let mut refused = Command::new(program("refuses.c"));
    refused.arg(command.get_program()).args(command.get_args()).stdin(std::process::Stdio::null());
    refused
}

const GROWS: &str = "import time
def work():
  rows = []
  for i in range(600):
    time.sleep(0.003)
    [bytearray(3_000) for _ in range(20)]
    rows.append(bytearray(9_000)) # here
work()
";

#[test]
fn who_holds_a_growing_list_is_named() {
    let folder = Folder::new();
    let script = folder.file("script.py");
    std::fs::write(&script, GROWS).expect("the folder is writable");
    let (run, command) = Heaplens::on(interpreters::any(), &["-q"]).arg(&script).into_parts();
    let output = refused(&command).output().expect("heaplens starts");
    assert!(output.status.success(), "{output:?}");
    let report = std::fs::read(run.file("run.json")).expect("there is a report");
    let report: Value = serde_json::from_slice(&report).expect("it is JSON");
    let findings = report["findings"].as_array().expect("there are findings");
    let found = findings.iter().find(|finding| finding["location"]["line"] == 7).expect("the line is found");
    let path: Vec<&str> =
        found["holder"]["path"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(path.len() >= 3 && path[0].starts_with("work (script.py:"), "{found:#}");
    assert_eq!(path[1], "rows (list)", "{found:#}");
}

/// While it waits it allocates nothing, and makes the snapshot all the same.
#[test]
fn a_program_may_ask_for_a_snapshot_of_what_a_function_holds() {
    let folder = Folder::new();
    let script = program_that_asks(&folder);
    let (run, command) = Heaplens::on(interpreters::any(), &["-q"]).arg(&script).into_parts();
    let output = refused(&command).output().expect("heaplens starts");
    assert!(output.status.success(), "{output:?}");
    assert_snapshots_are_right(&run.file("run.hlr"));
}

#[test]
fn a_program_that_forks_snapshots_of_itself_computes_the_same() {
    let running = Running::start("busy", false);
    for _ in 0..2 {
        let output = refused(&running.snapshot()).output().expect("heaplens starts");
        assert!(output.status.success(), "{output:?}");
        let seen = running.seen().expect("there is a snapshot");
        assert!(seen.contains("registers of other threads were not captured"), "{seen}");
    }
    assert_eq!(running.finish(), "wrong=0 lost=0 worked=1 ticked=1\n");
}

/// As the recorder's own child and as a shell's.
#[test]
fn no_child_and_no_signal_is_seen() {
    for is_in_shell in [false, true] {
        let running = Running::start("children", is_in_shell);
        for _ in 0..2 {
            assert!(refused(&running.snapshot()).output().expect("heaplens starts").status.success());
            running.seen().expect("there is a snapshot");
        }
        assert_eq!(running.finish(), "signals=0 waited=0 listed=0 tracer=0 loops=1\n");
    }
}

#[test]
fn a_program_that_does_not_allocate_has_no_snapshot_and_that_is_reported() {
    let running = Running::start("waits", false);
    assert!(refused(&running.snapshot()).output().expect("heaplens starts").status.success());
    let why = running.seen().expect_err("there is no snapshot");
    assert!(why.contains("does not allocate"), "{why}");
    assert_eq!(running.finish(), "over 0\n");
}

/// Killed between two questions: [`Running::finish`] waits until the recorder has no child but the program.
#[test]
fn a_forked_snapshot_ends_with_the_process_that_reads_it() {
    let running = Running::start("children", false);
    for step in [4, 16] {
        let mut command = running.snapshot();
        command.env("LD_PRELOAD", shared_library("killed_at.c")).env("REFUSED", "1");
        let output = command.env("KILLED_AT", step.to_string()).output().expect("heaplens starts");
        assert_eq!(output.status.signal(), Some(9), "step {step}: {output:?}");
    }
    assert_eq!(running.finish(), "signals=0 waited=0 listed=0 tracer=0 loops=1\n");
}
