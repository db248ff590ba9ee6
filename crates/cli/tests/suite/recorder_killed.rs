//! The recorder is killed: the program runs on as if nothing had happened, and what it left can be sealed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::harness::{Heaplens, Report, Truth, assert_exact, program};

#[test]
fn the_program_runs_on_and_its_session_can_be_reported() {
    let (folder, mut command) = Heaplens::on("/bin/sh".as_ref(), &[]).into_parts();
    let fifo = folder.file("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("`mkfifo` starts").success());
    // A shell in between keeps the exit status, which nobody else could ask for once the recorder is gone.
    let script = format!("'{}' '{}'; echo status $?", program("patient.c").display(), fifo.display());
    let mut recorder = command.args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("heaplens starts");
    let mut stdout = BufReader::new(recorder.stdout.take().expect("stdout is a pipe"));
    let mut ready = String::new();
    stdout.read_line(&mut ready).expect("the program speaks");
    let session = ready.trim().splitn(3, ' ').nth(2).expect("`ready PID SESSION`").to_owned();
    recorder.kill().expect("the recorder is running");
    recorder.wait().expect("the recorder ends");
    // Opened and closed: the program goes on.
    drop(std::fs::OpenOptions::new().write(true).open(&fifo).expect("the program waits at the fifo"));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the program speaks on");
    assert!(rest.contains("status 5\n"), "the program's own exit status and output: {rest}");
    report_on_session(&session, &Truth::parse(&rest));
}

fn report_on_session(session: &str, truth: &Truth) {
    let pid = truth.pid().to_string();
    let output = Heaplens::bare(["report", session, "--format", "json", "--pid", &pid]).output();
    let output = output.expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_exact(truth, truth.pid(), &Report::parse(&output.stdout));
    drop(std::fs::remove_dir_all(session));
}
