//! Stacks as the program knows them.

use crate::harness::{Heaplens, assert_chains, program, program_with};

#[test]
fn stacks_through_longjmp_alloca_realigned_frames_libc_and_catch_are_whole() {
    let run = Heaplens::on(&program("stacks.cpp"), &[]).finish().expect_status(0);
    run.assert_exact();
    assert_chains(&run.truth(), &run.report());
}

/// As `patchelf` leaves them: the loader reports such a program segment by segment, and its code has no header before it.
#[test]
fn a_program_with_holes_between_its_segments_has_whole_stacks() {
    let flags = ["-no-pie", "-Wl,-Ttext=0x10000000"];
    let program =
        program_with("stacks.cpp", "stacks-with-holes", &flags).expect("an ordinary program compiles");
    let run = Heaplens::on(&program, &[]).finish().expect_status(0);
    run.assert_exact();
    assert_chains(&run.truth(), &run.report());
}

#[test]
fn two_thousand_frames_are_all_there() {
    let run = Heaplens::on(&program("stacks.cpp"), &[]).arg("2000").finish().expect_status(0);
    run.assert_exact();
    let recursions = frames_of_recurse(&run.report());
    assert_eq!(recursions, (2001, true));
    assert_eq!(run.report().loss("too deep"), 0);
}

#[test]
fn forty_thousand_frames_are_cut_and_counted() {
    let run = Heaplens::on(&program("stacks.cpp"), &[]).arg("40000").finish().expect_status(0);
    run.assert_exact();
    let (recursions, main) = frames_of_recurse(&run.report());
    assert!((100..40001).contains(&recursions) && !main, "{recursions} frames, main: {main}");
    assert_eq!(run.report().loss("too deep"), 1);
}

/// How many frames of `recurse` the deepest stack has, and whether it reaches `main`.
fn frames_of_recurse(report: &crate::harness::Report) -> (usize, bool) {
    let sites = report.sites();
    let stack = &sites.iter().max_by_key(|site| site.stack.len()).expect("there are sites").stack;
    let named = |name: &str| stack.iter().filter(|frame| frame.function.as_deref() == Some(name)).count();
    (named("recurse"), named("main") == 1)
}
