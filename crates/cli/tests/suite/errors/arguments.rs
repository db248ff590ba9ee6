//! What functions of the C library should not be given: copies between overlapping blocks, negative sizes, and `realloc` to no bytes.

use std::process::Command;

use super::truth::{checked, reported, told};
use crate::harness::{Heaplens, program_with};

const SOURCE: &str = "bad_arguments.cpp";

#[test]
fn bad_arguments_are_reported_by_memcheck_with_their_lines_and_good_ones_are_not() {
    for level in ["-O0", "-O2"] {
        let flags = [level, "-fno-builtin"];
        let program = program_with(SOURCE, &format!("bad_arguments{level}"), &flags).expect("it compiles");
        for words in [&[""][..], &["", "thread"], &["healthy"], &["healthy", "thread"]] {
            let run = checked(&["-q"], &program, words);
            let truth = told(&run.output.stdout);
            assert_eq!(truth.is_empty(), words[0] == "healthy", "{level} {words:?}");
            assert_eq!(reported(&run.report, SOURCE), truth, "{level} {words:?} {}", run.stderr());
            let alone = Command::new(&program).args(words).output().expect("it starts");
            assert_eq!(
                (run.output.status, run.output.stdout),
                (alone.status, alone.stdout),
                "{level} {words:?}"
            );
        }
    }
}

#[test]
fn memcheck_says_it_in_memchecks_words() {
    let program = program_with(SOURCE, "bad_arguments-O2", &["-O2", "-fno-builtin"]).expect("it compiles");
    let text = checked(&[], &program, &[""]).stderr();
    for part in [
        "Source and destination overlap in memcpy(0x",
        "Argument 'size' of function malloc has a fishy (possibly negative) value: -3\n",
        "Argument 'nmemb' of function calloc has a fishy (possibly negative) value: -7\n",
        "realloc() with size 0\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_run_does_not_check_arguments() {
    let program = program_with(SOURCE, "bad_arguments-O2", &["-O2", "-fno-builtin"]).expect("it compiles");
    let run = Heaplens::on(&program, &["-q"]).finish();
    assert_eq!(reported(&run.report().whole(), SOURCE), []);
}
