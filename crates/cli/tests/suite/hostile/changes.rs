//! Programs that change their own rights and limits while they run (`changes_itself.c`), and go on allocating.

use std::process::Command;

use crate::harness::{Finished, Heaplens, Truth, assert_exact, program, skip};

/// The program and its child did all that they do alone.
fn changed(what: &str) -> Option<Finished> {
    let path = program("changes_itself.c");
    let alone = Command::new(&path).arg(what).output().expect("the program starts");
    if alone.status.code() != Some(6) {
        skip(&format!("hostile::changes ({what})"), "the program may not do that here, alone either");
        return None;
    }
    let run = Heaplens::on(&path, &[]).arg(what).finish().expect_status(6);
    assert_eq!(claims(&Truth::parse(&run.stdout())), claims(&parse(&alone.stdout)), "{what}");
    Some(run)
}

fn parse(stdout: &[u8]) -> Truth {
    Truth::parse(&String::from_utf8_lossy(stdout))
}

fn claims(truth: &Truth) -> Vec<(u64, [Option<i64>; 6])> {
    truth.rows.iter().map(|row| (row.line, row.claims)).collect()
}

fn changed_and_exact(what: &str) {
    if let Some(run) = changed(what) {
        run.assert_exact();
    }
}

/// The program itself is exact; its child cannot make an arena, and the report says that one is missing.
fn changed_without_child(what: &str) {
    let Some(run) = changed(what) else { return };
    let (truth, report) = (run.truth(), run.report());
    let [child, own] = truth.pids.as_slice() else { panic!("two processes: {:?}", truth.pids) };
    assert_exact(&truth, *own, &report);
    if report.pids().contains(&u64::from(*child)) {
        return assert_exact(&truth, *child, &run.report_on(*child));
    }
    assert_eq!(
        report.loss("processes not recorded"),
        1,
        "a missing process is a loss: {}",
        report.0["losses"]
    );
}

#[test]
fn another_user_and_group() {
    changed_without_child("uid");
}

#[test]
fn another_root_directory() {
    changed_without_child("chroot");
}

#[test]
fn another_user_namespace() {
    changed_and_exact("user-namespace");
}

#[test]
fn a_process_that_cannot_be_dumped() {
    changed_and_exact("dumpable");
}

#[test]
fn three_descriptors_at_most() {
    changed_without_child("descriptors");
}

#[test]
fn files_of_a_hundred_bytes_at_most() {
    changed_without_child("file-size");
}

#[test]
fn a_gibibyte_of_address_space_at_most() {
    changed_without_child("address-space");
}

#[test]
fn all_signals_blocked() {
    changed_and_exact("signals");
}

#[test]
fn future_memory_locked() {
    changed_and_exact("future-locked");
}

/// Where other calls are refused the arena cannot grow: what is missing is counted to the last block.
#[test]
fn a_filter_that_refuses_other_system_calls() {
    let Some(run) = changed("refused") else { return };
    let report = run.report();
    let said: i64 = run.truth().rows.iter().filter_map(|row| row.claims[3]).sum();
    let own = |site: &crate::harness::Site| {
        site.stack.first().is_some_and(|frame| matches!(frame.function.as_deref(), Some("before" | "after")))
    };
    let found: i64 = report.sites().iter().filter(|site| own(site)).map(|site| site.amounts[3]).sum();
    assert_eq!(found + report.loss("arena could not grow") as i64, said);
}

#[test]
fn a_filter_that_kills_at_other_system_calls() {
    changed("killed");
}

#[test]
fn the_strict_mode_in_which_only_read_and_write_are_left() {
    let path = program("changes_itself.c");
    let alone = Command::new(&path).arg("strict").output().expect("the program starts");
    if alone.status.code() != Some(6) {
        return skip(
            "hostile::changes::the_strict_mode_in_which_only_read_and_write_are_left",
            "no strict mode",
        );
    }
    let run = Heaplens::on(&path, &[]).arg("strict").finish().expect_status(6);
    assert!(run.stdout().contains("strict to the end\n"), "{}", run.stdout());
}
