//! What is asked for while a native program runs, and when it may not be done.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Duration;

use heaplens_format::Pid;
use heaplens_record::{RecordedProcess, Unanswered};

use crate::harness::{Heaplens, Report, program};

/// Asks a program that allocates where `mode` says, until there is an answer; the answer, and the report of the run.
fn ask(mode: &str, timeout: Duration) -> (Result<(), Unanswered>, Report) {
    // Passive: the end of the program tries nothing that was not asked for.
    let run = Heaplens::on(&program("requests.c"), &["--passive"]).arg(mode);
    let (folder, mut command) = run.into_parts();
    let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
    let mut lines = run.stdin.take().expect("stdin is a pipe");
    let mut output = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
    output.read_line(&mut String::new()).expect("the program is ready");
    let process = RecordedProcess::find(Pid::new(child_of(run.id()))).expect("it is being recorded");
    let asking = std::thread::spawn(move || process.test(timeout));
    while !asking.is_finished() {
        lines.write_all(b"more\n").expect("the program listens");
        output.read_line(&mut String::new()).expect("the program answers");
    }
    drop(lines);
    output.read_to_end(&mut Vec::new()).expect("the program ends");
    assert!(run.wait().expect("heaplens ends").success());
    let report = Report::parse(&std::fs::read(folder.file("run.json")).expect("a report"));
    (asking.join().expect("it asked"), report)
}

/// The only child of the recorder.
pub fn child_of(recorder: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{recorder}/task/{recorder}/children"));
    let children = children.expect("the kernel lists children");
    children.split_whitespace().next().expect("there is one").parse().expect("a number")
}

#[test]
fn a_native_program_gives_free_memory_back_when_asked() {
    let (answer, report) = ask("main", Duration::from_secs(60));
    answer.expect("the program makes thousands of events a line");
    let returns = &report.0["returns"];
    assert!(returns["collected"].is_null(), "there is no collector: {returns}");
    let rss = |name: &str| returns["trimmed"][name].as_u64().expect("it was trimmed");
    assert!(rss("rss_before") > rss("rss_after"), "{returns}");
}

/// A handler may have interrupted whoever holds the allocator's lock.
#[test]
fn no_reclaim_test_runs_inside_a_signal_handler() {
    let (answer, report) = ask("handler", Duration::from_millis(500));
    assert!(matches!(answer, Err(Unanswered::Silent { .. })), "{answer:?}");
    assert!(report.0["returns"].is_null(), "and a request that was taken back is not answered later");
}
