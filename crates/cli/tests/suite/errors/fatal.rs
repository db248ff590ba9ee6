//! Accesses that end the program: where they are made, in the words of a program that says so; and the program ends as it does alone.

use std::path::Path;
use std::process::Command;

use super::truth::{checked, reported, status, told};
use crate::harness::program_with;

const SOURCE: &str = "fatal_accesses.c";

fn assert_told(options: &[&str], program: &Path, words: &[&str]) {
    let alone = Command::new(program).args(words).output().expect("it starts");
    let run = checked(options, program, words);
    assert_eq!((status(&run.output), &run.output.stdout), (status(&alone), &alone.stdout), "{words:?}");
    let told = told(&alone.stdout);
    assert_eq!(reported(&run.report, SOURCE), told, "{options:?} {words:?} {}", run.stderr());
    assert_eq!(told.is_empty(), words[0] == "handled", "{words:?}");
}

#[test]
fn an_access_that_ends_the_program_is_reported_at_its_line() {
    for level in ["-O0", "-O2"] {
        let name = format!("fatal_accesses{level}");
        let program = program_with(SOURCE, &name, &[level]).expect("an ordinary program compiles");
        let cases = Command::new(&program).output().expect("it starts");
        for case in String::from_utf8_lossy(&cases.stdout).lines() {
            assert_told(&["-q"], &program, &[case]);
            assert_told(&["-q"], &program, &[case, "thread"]);
        }
        // What a guard page catches is not told twice, nor is anything else kept from its end.
        for case in ["read_null", "write_wild", "handled"] {
            assert_told(&["-q", "--guard=all"], &program, &[case]);
        }
    }
}
