//! Programs that cannot be recorded run as they would alone, and one sentence says why there is no recording.

use std::path::Path;
use std::process::Command;

use crate::harness::{Folder, Heaplens, is_root, program, program_with, skip};

/// The program keeps blocks on purpose: the sanitizer's own leak check would change its exit status.
const ASAN: (&str, &str) = ("ASAN_OPTIONS", "detect_leaks=0");

fn runs_bare(program: &Path, why: &str) {
    let folder = Folder::new();
    let mut command = Heaplens::bare(["run", "-o"]);
    command.arg(folder.file("run.hlr")).arg("--").arg(program).env(ASAN.0, ASAN.1);
    let output = command.output().expect("heaplens starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{stdout}{stderr}");
    assert!(stdout.contains("truth-end "), "the program did its work: {stdout}");
    assert!(stderr.contains("plain: a line on stderr\n"), "{stderr}");
    assert!(stderr.to_lowercase().contains(why), "one sentence says why: {stderr}");
}

#[test]
fn a_static_program_runs_bare() {
    match program_with("plain.c", "plain-static", &["-static"]) {
        Ok(path) => runs_bare(&path, "static"),
        Err(why) => {
            skip("unrecordable::a_static_program_runs_bare", &format!("cannot link statically: {why}"))
        }
    }
}

#[test]
fn a_program_with_address_sanitizer_runs_bare() {
    let test = "unrecordable::a_program_with_address_sanitizer_runs_bare";
    let path = match program_with("plain.c", "plain-asan", &["-fsanitize=address"]) {
        Ok(path) => path,
        Err(why) => return skip(test, &format!("no libasan: {why}")),
    };
    let alone = Command::new(&path).env(ASAN.0, ASAN.1).output();
    if !alone.is_ok_and(|output| output.status.code() == Some(4)) {
        return skip(test, "it does not run here alone either");
    }
    runs_bare(&path, "sanitizer");
}

#[test]
fn a_setuid_program_runs_bare() {
    let test = "unrecordable::a_setuid_program_runs_bare";
    if !is_root() {
        return skip(test, "only root can make a program setuid to somebody else");
    }
    let folder = Folder::new();
    let copy = folder.file("plain-setuid");
    std::fs::copy(program("plain.c"), &copy).expect("the folder is writable");
    let done = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let owned = done(Command::new("chown").arg("nobody").arg(&copy));
    if !owned || !done(Command::new("chmod").arg("4755").arg(&copy)) {
        return skip(test, "cannot give a file to `nobody`");
    }
    runs_bare(&copy, "setuid");
}
