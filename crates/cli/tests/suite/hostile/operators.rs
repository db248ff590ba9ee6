//! C++'s operators where they are not what they usually are: replaced, out of memory, crossed, loaded late.

use crate::harness::{Heaplens, program, shared_library};

#[test]
fn forms_that_end_in_a_replaced_operator_still_reach_it() {
    Heaplens::on(&program("replaces_new.cpp"), &[]).finish().expect_status(0).assert_exact();
}

#[test]
fn a_new_handler_and_bad_alloc_work_when_the_address_space_is_used_up() {
    Heaplens::on(&program("out_of_memory.cpp"), &[]).finish().expect_status(0).assert_exact();
}

#[test]
fn the_same_in_a_sampled_run_changes_nothing_for_the_program() {
    let run = Heaplens::on(&program("out_of_memory.cpp"), &["--sample", "4KiB"]).finish().expect_status(0);
    assert!(run.stdout().contains("truth-end"), "{}", run.stdout());
}

#[test]
fn a_block_that_goes_by_another_form_than_it_came_ends_once() {
    let run = Heaplens::on(&program("mixed_up_operators.cpp"), &[]).finish().expect_status(0);
    run.assert_exact();
    assert!(run.stderr().contains("No allocation events lost"), "{}", run.stderr());
}

#[test]
fn operators_of_a_library_in_a_scope_of_its_own_are_exact() {
    let library = shared_library("late_operators_library.cpp");
    let run = Heaplens::on(&program("late_operators.c"), &[]).arg(&library).finish().expect_status(12);
    run.assert_exact();
    assert!(run.stderr().contains("No allocation events lost"), "{}", run.stderr());
}
