//! Process trees: every process has its own books, and programs are followed wherever they go.

use crate::harness::{Heaplens, program, shared_library};

#[test]
fn every_process_of_a_fork_tree_is_exact() {
    let run = Heaplens::on(&program("fork_tree.c"), &[]).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), 7, "three generations of two children each");
    run.assert_exact();
}

#[test]
fn programs_are_followed_across_exec_with_any_environment() {
    let run = Heaplens::on(&program("exec_chain.c"), &[]).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), 6, "five children and the parent");
    run.assert_exact();
}

#[test]
fn a_program_below_a_shell_is_followed() {
    let script = format!("{} && {}", program("signals.c").display(), program("peak.c").display());
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(0);
    assert_eq!(run.truth().pids.len(), 2);
    run.assert_exact();
}

#[test]
fn a_library_that_the_user_preloads_is_still_loaded() {
    let library = shared_library("preloaded.c");
    let run = Heaplens::on(&program("plain.c"), &[]).env("LD_PRELOAD", library).finish().expect_status(4);
    assert!(run.stdout().starts_with("preloaded library is here\n"), "{}", run.stdout());
    run.assert_exact();
}

#[test]
fn the_program_sees_its_own_environment_order_and_output() {
    let bare = std::process::Command::new(program("plain.c")).output().expect("the program runs");
    let run = Heaplens::on(&program("plain.c"), &[]).finish().expect_status(4);
    assert!(run.stderr().contains(&*String::from_utf8_lossy(&bare.stderr)));
    assert_eq!(run.truth().rows.len(), 2);
}

#[test]
fn closed_streams_stay_closed() {
    let script = format!("{} >&- 2>&- <&-; exit $?", program("plain.c").display());
    let run = Heaplens::on("/bin/sh".as_ref(), &[]).arg("-c").arg(script).finish().expect_status(4);
    let found = run.report().pids();
    assert!(!found.is_empty(), "the program was recorded although its streams are closed");
}

#[test]
fn memory_that_a_worker_shares_is_counted_once_for_the_tree() {
    let run = Heaplens::on(&program("shares_memory.c"), &[]).finish().expect_status(0);
    let tree = &run.report().0["ledger_details"]["tree"];
    let mib = |field: &str| tree[field].as_u64().unwrap_or_default() >> 20;
    assert_eq!(tree["processes"], 2, "{tree}");
    assert!(mib("rss") >= 128 && (64..80).contains(&mib("pss")) && (1..10).contains(&mib("uss")), "{tree}");
    let page = run.stderr();
    assert!(page.contains("process tree    2 processes"), "{page}");
}
