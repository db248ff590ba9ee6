//! Under allocators that Heaplens does not see into, no error is reported, and a program ends as it does without Heaplens.

use std::process::Command;

use super::truth::reported;
use crate::harness::{Heaplens, allocator, program_with, skip};

const SOURCE: &str = "bad_frees.cpp";

#[test]
fn under_other_allocators_healthy_programs_have_no_errors_and_others_end_as_they_do_alone() {
    let test = "errors::allocators::under_other_allocators";
    let program = program_with(SOURCE, "bad_frees-O2", &["-O2"]).expect("an ordinary program compiles");
    for name in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"] {
        let Some(library) = allocator(name) else {
            skip(test, &format!("{name} is not on this machine"));
            continue;
        };
        for case in ["healthy", "mismatches"] {
            let alone =
                Command::new(&program).arg(case).env("LD_PRELOAD", &library).output().expect("it starts");
            let run = Heaplens::on(&program, &["-q"]).arg(case).env("LD_PRELOAD", &library).finish();
            assert_eq!(run.output.stdout, alone.stdout, "{name} {case}");
            assert_eq!(run.output.status.code(), alone.status.code(), "{name} {case}");
            assert_eq!(reported(&run.report().whole(), SOURCE), [], "{name} {case}");
        }
    }
}
