//! Programs that are started by others and do not take a foreign library: they must run as they would without us.

use std::path::Path;
use std::process::Command;

use crate::harness::{Heaplens, is_root, program, program_with, skip};

/// `starts.c` leaves with 20 when the program ended with its own status each of the four times.
const ALL_WELL: i32 = 20;

fn runs_alone(path: &Path) -> bool {
    let alone = Command::new(program("starts.c")).arg(path).env("ASAN_OPTIONS", "detect_leaks=0").output();
    alone.is_ok_and(|output| output.status.code() == Some(ALL_WELL))
}

fn started_by_another(path: &Path) {
    let run =
        Heaplens::on(&program("starts.c"), &[]).arg(path).env("ASAN_OPTIONS", "detect_leaks=0").finish();
    let run = run.expect_status(ALL_WELL);
    let lines = run.stdout().lines().filter(|line| line.starts_with("truth-end ")).count();
    assert_eq!(lines, 4, "each of them did its work: {}", run.stdout());
    let allowed = |line: &&str| line.contains("plain: a line on stderr") || is_report(line);
    let foreign: Vec<String> =
        run.stderr().lines().filter(|line| !allowed(line)).map(str::to_owned).collect();
    assert!(foreign.is_empty(), "their stderr has lines that are not theirs: {foreign:?}");
}

/// Whether a line belongs to the page that the run prints at its end: it is indented, empty, or ours by name.
fn is_report(line: &str) -> bool {
    line.is_empty() || line.starts_with(' ') || line.starts_with("heaplens")
}

#[test]
fn a_sanitized_child_runs_as_without_us() {
    let test = "hostile::children::a_sanitized_child_runs_as_without_us";
    match program_with("plain.c", "plain-asan", &["-fsanitize=address"]) {
        Ok(path) if runs_alone(&path) => started_by_another(&path),
        Ok(_) => skip(test, "it does not run here alone either"),
        Err(why) => skip(test, &format!("no libasan: {why}")),
    }
}

#[test]
fn a_static_child_runs_as_without_us() {
    let test = "hostile::children::a_static_child_runs_as_without_us";
    match program_with("plain.c", "plain-static", &["-static"]) {
        Ok(path) => started_by_another(&path),
        Err(why) => skip(test, &format!("cannot link statically: {why}")),
    }
}

#[test]
fn a_static_position_independent_program_runs_bare() {
    let test = "hostile::children::a_static_position_independent_program_runs_bare";
    match program_with("plain.c", "plain-static-pie", &["-static-pie"]) {
        Ok(path) => {
            let run = Heaplens::on(&path, &[]).finish().expect_status(4);
            assert!(run.stderr().contains("statically linked"), "{}", run.stderr());
        }
        Err(why) => skip(test, &format!("cannot link so: {why}")),
    }
}

/// The agent lies in the first user's own folder: the dynamic linker of the other one complains when it cannot open it.
#[test]
fn a_program_of_a_user_who_cannot_read_the_agent_starts_in_silence() {
    let test = "hostile::children::a_program_of_a_user_who_cannot_read_the_agent_starts_in_silence";
    if !is_root() {
        return skip(test, "only root can become somebody else");
    }
    let words = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "/bin/true"];
    if !Command::new("setpriv").args(words).status().is_ok_and(|status| status.success()) {
        return skip(test, "no setpriv");
    }
    let run = words.iter().fold(Heaplens::on("/usr/bin/setpriv".as_ref(), &[]), |run, word| run.arg(word));
    let run = run.finish().expect_status(0);
    assert!(!run.stderr().contains("LD_PRELOAD"), "{}", run.stderr());
}

#[test]
fn two_processes_with_the_number_one_are_distinguished() {
    let test = "hostile::children::two_processes_with_the_number_one_are_distinguished";
    let path = program("pid_namespaces.c");
    if !Command::new(&path).output().is_ok_and(|output| output.status.success()) {
        return skip(test, "this user may not make PID namespaces");
    }
    let run = Heaplens::on(&path, &[]).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), 2);
    run.assert_exact();
}
