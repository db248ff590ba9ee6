//! Bad frees: of each kind the line of the call, of the allocation and of the first free, whoever makes it and however the program was compiled;
//! and none in a program that only looks as if it made some.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use super::truth::{KnownError, checked, reported, told};
use crate::harness::{Heaplens, program_with};

const SOURCE: &str = "bad_frees.cpp";
/// Cases whose blocks come from the C library or from C++, in every way.
const MOST: usize = 15;

fn programs() -> [PathBuf; 2] {
    ["-O0", "-O2"].map(|level| {
        program_with(SOURCE, &format!("bad_frees{level}"), &[level]).expect("an ordinary program compiles")
    })
}

fn cases(program: &PathBuf) -> Vec<String> {
    let output = Command::new(program).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The status of a shell.
fn status(output: &std::process::Output) -> i32 {
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().expect("it ended"))
}

fn alone(program: &PathBuf, words: &[&str]) -> i32 {
    status(&Command::new(program).args(words).output().expect("it starts"))
}

/// `run` does not keep the stacks of frees.
fn without_first_frees(errors: Vec<KnownError>) -> Vec<KnownError> {
    let mut errors: Vec<KnownError> =
        errors.into_iter().map(|error| KnownError { freed: 0, ..error }).collect();
    errors.sort();
    errors
}

fn assert_run(program: &PathBuf, words: &[&str]) {
    let run = words.iter().fold(Heaplens::on(program, &["-q"]), |run, word| run.arg(word)).finish();
    let truth = without_first_frees(told(&run.output.stdout));
    assert_eq!(reported(&run.report().whole(), SOURCE), truth, "{words:?} {}", run.stderr());
    assert_eq!(status(&run.output), alone(program, words), "{words:?}");
}

fn assert_memcheck(program: &PathBuf, words: &[&str]) {
    // Where freed blocks are kept, addresses do not come again.
    let options: &[&str] = if ["double_after_reuse", "covered"].contains(&words[0]) {
        &["-q", "--freelist-vol=0"]
    } else {
        &["-q"]
    };
    let run = checked(options, program, words);
    assert_eq!(reported(&run.report, SOURCE), told(&run.output.stdout), "{words:?} {}", run.stderr());
    assert_eq!(status(&run.output), alone(program, words), "{words:?}");
}

#[test]
fn every_bad_free_is_reported_with_its_line_and_that_of_the_allocation() {
    for program in programs() {
        let cases = cases(&program);
        assert!(cases.len() > MOST, "{cases:?}");
        cases.iter().for_each(|case| assert_run(&program, &[case]));
    }
}

#[test]
fn memcheck_also_reports_the_line_of_the_first_free() {
    for program in programs() {
        cases(&program).iter().for_each(|case| assert_memcheck(&program, &[case]));
    }
}

#[test]
fn bad_frees_in_a_thread_are_reported_alike() {
    let [_, program] = programs();
    for case in cases(&program) {
        assert_memcheck(&program, &[&case, "thread"]);
    }
}

#[test]
fn bad_frees_in_a_signal_handler_are_reported_alike() {
    let [_, program] = programs();
    for case in ["double_free", "inside", "stack", "mismatches", "healthy"] {
        assert_memcheck(&program, &[case, "handler"]);
    }
}

#[test]
fn bad_frees_in_a_forked_child_are_those_of_the_child() {
    let [_, program] = programs();
    for case in ["double_free", "inside", "data", "mismatches", "healthy"] {
        assert_run(&program, &[case, "child"]);
    }
}

#[test]
fn a_program_that_survives_an_overrun_alone_survives_it_in_memcheck() {
    let program = crate::harness::program("overruns_a_little.c");
    let alone = Command::new(&program).output().expect("it starts");
    assert_eq!(alone.status.code(), Some(3));
    let run = checked(&["-q"], &program, &[]);
    assert_eq!((run.output.status, run.output.stdout), (alone.status, alone.stdout));
}

#[test]
fn a_sampled_run_reports_none() {
    let [_, program] = programs();
    for case in ["double_free", "mismatches", "stack"] {
        let run = Heaplens::on(&program, &["-q", "--sample", "64"]).arg(case).finish();
        assert_eq!(reported(&run.report().whole(), SOURCE), [], "{case}");
    }
}
