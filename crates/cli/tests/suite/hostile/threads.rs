//! Threads and processes that come in the worst order.

use crate::harness::{Heaplens, program};

fn exact(source: &str, words: &[&str]) {
    let run = words.iter().fold(Heaplens::on(&program(source), &[]), |run, word| run.arg(word));
    run.finish().expect_status(0).assert_exact();
}

#[test]
fn threads_with_the_smallest_stacks_are_exact() {
    exact("small_stacks.c", &[]);
}

#[test]
fn sixty_four_threads_that_free_each_others_blocks_are_exact() {
    exact("contention.c", &[]);
}

#[test]
fn children_forked_while_sixteen_threads_allocate_are_exact() {
    const CHILDREN: usize = 200;
    let run = Heaplens::on(&program("fork_storm.c"), &[]).arg(CHILDREN.to_string()).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), CHILDREN + 1, "every child and the program itself");
    run.assert_exact();
}

#[test]
fn processes_and_threads_of_a_bare_clone_are_exact() {
    let run = Heaplens::on(&program("raw_clone.c"), &[]).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), 21, "twenty children and the program itself");
    run.assert_exact();
}

#[test]
fn ten_million_live_blocks_are_exact() {
    let run = Heaplens::on(&program("ten_million.c"), &[]).arg("10000000").finish().expect_status(0);
    run.assert_exact();
    let arena = run.report().arena_bytes();
    println!("arena of ten million blocks: {arena} bytes");
    // Blocks of 16 to 40 bytes lie 32 to 48 apart, and every 32 bytes have a word of 8.
    assert!(arena < 10_000_000 * 12, "the arena has {arena} bytes");
}

#[test]
fn a_thread_that_first_allocates_under_its_own_lock_does_not_wait_for_itself() {
    exact("asks_for_its_stack.c", &[]);
}
