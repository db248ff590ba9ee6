//! Wrong words, missing files, unwritable paths: one clear message, a hint, the right exit status, nothing lost.

use std::process::Output;

use crate::harness::{Folder, Heaplens, program};

fn heaplens(arguments: &[&str]) -> Output {
    Heaplens::bare(arguments).output().expect("heaplens starts")
}

/// Fails with this status and one message that names the thing; returns stderr.
fn fails(output: &Output, status: i32, names: &str) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.contains(names), "the message names {names}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

#[test]
fn an_unknown_option_is_named() {
    fails(&heaplens(&["run", "--no-such-option", "--", "true"]), 125, "--no-such-option");
}

#[test]
fn a_missing_program_is_127() {
    fails(&heaplens(&["run", "--", "/no/such/program"]), 127, "/no/such/program");
}

#[test]
fn a_program_that_is_not_executable_is_126() {
    let folder = Folder::new();
    let path = folder.file("text");
    std::fs::write(&path, "text").expect("the folder is writable");
    fails(&heaplens(&["run", "--", path.to_str().expect("a plain path")]), 126, "text");
}

#[test]
fn no_program_at_all_is_an_error() {
    assert_eq!(heaplens(&["run"]).status.code(), Some(125));
}

#[test]
fn a_missing_recording_is_named() {
    fails(&heaplens(&["report", "/no/such/file.hlr"]), 125, "/no/such/file.hlr");
}

#[test]
fn a_foreign_file_is_no_recording() {
    let stderr =
        fails(&heaplens(&["report", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]), 125, "Cargo.toml");
    assert!(stderr.contains("\n\nhint: "), "{stderr}");
}

#[test]
fn an_output_path_that_cannot_be_written_is_reported_before_the_program_runs() {
    let folder = Folder::new();
    let witness = folder.file("witness");
    let path = folder.file("no/such/folder/run.hlr");
    let output = Heaplens::bare(["run", "-o"]).arg(&path).args(["--", "touch"]).arg(&witness).output();
    fails(&output.expect("heaplens starts"), 125, "no/such/folder");
    assert!(!witness.exists(), "the program ran although its recording could not be kept");
}

#[test]
fn a_sample_interval_that_is_no_size_is_named() {
    fails(&heaplens(&["run", "--sample", "often", "--", "true"]), 125, "often");
}

#[test]
fn the_exit_status_is_the_programs_own() {
    let folder = Folder::new();
    let run = |words: &[&str]| {
        let output = Heaplens::bare(["run", "-o"]).arg(folder.file("run.hlr")).arg("--").args(words).output();
        output.expect("heaplens starts").status.code()
    };
    assert_eq!(run(&["sh", "-c", "exit 42"]), Some(42));
    assert_eq!(run(&["sh", "-c", "kill -TERM $$"]), Some(128 + 15));
    assert_eq!(run(&[program("plain.c").to_str().expect("a plain path")]), Some(4));
}

#[test]
fn file_names_take_the_pid_and_variables() {
    let folder = Folder::new();
    let mut command = Heaplens::bare(["run", "-o"]);
    command.arg(folder.file("run-%q{HEAPLENS_TEST_NAME}-%p.hlr")).args(["--", "true"]);
    let output = command.env("HEAPLENS_TEST_NAME", "fourteen").output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = std::fs::read_dir(folder.path()).expect("the folder is there").flatten();
    let names: Vec<String> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(
        matches!(names.as_slice(), [name] if name.starts_with("run-fourteen-") && !name.contains('%')),
        "{names:?}"
    );
}
