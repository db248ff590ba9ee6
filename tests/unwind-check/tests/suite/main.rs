//! The tracker's unwinder against libgcc's, on more than a million stacks of programs that do everything that is hard on
//! an unwinder. A wrong frame is never acceptable; a stack that ends early is only where the reason is known.
//!
//! Every scenario takes a seed: `HEAPLENS_UNWIND_SEED=7 cargo test -p heaplens-unwind-check` checks other stacks.

mod program;
mod scenario;

use scenario::{SCENARIOS, Scenario, Summary};

/// What holds for every scenario.
fn run(name: &str) -> &'static Summary {
    let summary = Scenario::named(name).summary();
    println!("{summary}");
    assert_eq!(summary["wrong"], 0, "frames that libgcc does not have: {summary}");
    assert_eq!(summary["disagreements"], 0, "the memo and the plain walk see different stacks: {summary}");
    assert_eq!(summary["truncated"], 0, "stacks that end early for no known reason: {summary}");
    summary
}

#[test]
fn a_random_call_tree_has_the_frames_that_libgcc_sees() {
    let summary = run("tree");
    assert_eq!(summary["explained"], 0, "nothing interrupts this program: {summary}");
    assert_eq!(summary["memo"], summary["captures"], "the memo serves a thread on its own stack: {summary}");
}

#[test]
fn frames_at_the_place_of_older_ones_are_not_taken_for_them() {
    let summary = run("gaps");
    assert_eq!(summary["explained"], 0, "nothing interrupts this program: {summary}");
}

#[test]
fn exceptions_across_many_frames_leave_no_stale_frames() {
    let summary = run("exceptions");
    assert!(summary["thrown"] > 1000, "{summary}");
    assert_eq!(summary["explained"], 0, "nothing interrupts this program: {summary}");
}

#[test]
fn longjmp_across_many_frames_leaves_no_stale_frames() {
    let summary = run("jumps");
    assert!(summary["jumped"] > 1000, "{summary}");
    assert_eq!(summary["explained"], 0, "nothing interrupts this program: {summary}");
}

#[test]
fn threads_do_not_see_each_others_stacks() {
    let summary = run("threads");
    assert!(summary["thrown"] > 100 && summary["jumped"] > 100, "{summary}");
    assert_eq!(summary["explained"], 0, "nothing interrupts this program: {summary}");
}

#[test]
fn a_signal_after_every_instruction_finds_the_interrupted_stack() {
    let summary = run("steps");
    assert!(summary["interrupted-captures"] > 0 && summary["refused"] > 0, "{summary}");
    assert!(summary["throwing"] > 0, "exceptions are stepped through, too: {summary}");
    assert_eq!(summary["explained"], summary["lazy-binding"], "{summary}");
}

#[test]
fn a_handler_on_an_alternate_stack_finds_the_interrupted_stack() {
    let summary = run("steps-on-alternate-stack");
    assert!(summary["walk"] > summary["memo"], "no memo on a stack that is not the thread's own: {summary}");
    assert_eq!(summary["explained"], summary["lazy-binding"], "{summary}");
}

#[test]
fn signals_at_any_moment_find_the_interrupted_stack() {
    let summary = run("timer");
    assert!(summary["signals"] > 100, "{summary}");
}

#[test]
fn signals_at_any_moment_on_alternate_stacks_find_the_interrupted_stack() {
    let summary = run("timer-on-alternate-stack");
    assert!(summary["signals"] > 100 && summary["walk"] > 0, "{summary}");
}

#[test]
fn coroutines_have_stacks_of_their_own() {
    let summary = run("coroutines");
    assert!(summary["switches"] > 10_000 && summary["coroutines"] > 500, "{summary}");
    assert!(summary["walk"] > summary["memo"], "no memo on a stack that is not the thread's own: {summary}");
}

#[test]
fn a_handler_on_the_own_stack_above_a_coroutine_leaves_nothing_behind_that_is_gone() {
    let summary = run("signals-in-coroutines");
    assert!(summary["signals"] > 10_000, "{summary}");
}

#[test]
fn a_stack_whose_mapping_grew_unseen_is_followed_to_its_new_end() {
    let summary = run("growing-stacks");
    assert!(summary["grown"] > 100, "{summary}");
}

#[test]
fn another_library_at_the_same_address_is_not_taken_for_the_old_one() {
    let summary = run("reload");
    assert!(summary["other-library-same-address"] > 100, "{summary}");
}

#[test]
fn hostile_code_ends_a_stack_cleanly() {
    let summary = run("hostile");
    assert!(
        summary["without-tables"] > 0 && summary["just-in-time"] > 0 && summary["garbage-in-rbp"] > 0,
        "{summary}"
    );
    assert!(summary["broken"] > 0 && summary["stack-switches"] > 0, "{summary}");
}

#[test]
fn the_ends_of_threads_and_of_the_process_have_stacks() {
    let summary = run("endings");
    assert!(summary["without-slot"] > 0 && summary["walk"] > 0, "{summary}");
}

#[test]
fn stacks_deeper_than_the_memo_are_walked() {
    let summary = run("deep");
    assert!(summary["beyond-memo"] > 0 && summary["memo"] > 0, "{summary}");
    assert!(summary["deepest"] > 16_384, "{summary}");
}

#[test]
fn all_scenarios_together_compare_more_than_a_million_stacks() {
    let captures: u64 = SCENARIOS.iter().map(|scenario| scenario.summary()["captures"]).sum();
    assert!(captures > 1_000_000, "only {captures}");
    println!("{captures} stacks compared");
}
