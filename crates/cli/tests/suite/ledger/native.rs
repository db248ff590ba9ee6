//! Native programs, with glibc's allocator and with others.

use super::{Ledger, MIB, assert_near, said};
use crate::harness::{Finished, Heaplens, allocator, program, skip};

fn run(what: &str, options: &[&str]) -> Finished {
    Heaplens::on(&program("ledger.cpp"), options).arg(what).finish().expect_status(0)
}

#[test]
fn free_memory_of_glibc_is_what_glibc_says() {
    let run = run("blocks", &[]);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_eq!(ledger.end_is(), "exit");
    assert_near("live blocks", ledger.end("native"), said(&run, "live"), 0.02, 0.0);
    let free = said(&run, "free") + said(&run, "overhead");
    assert_near("free memory", ledger.end("allocator-free"), free, 0.02, 0.0);
}

#[test]
fn a_raw_system_call_is_an_unhooked_mapping() {
    let run = run("raw", &[]);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("the mapping", ledger.mapped("unhooked"), 64.0 * MIB, 0.0, 0.5 * MIB);
    assert_near("blocks beside it", ledger.end("native"), 4.0 * MIB, 0.0, 0.5 * MIB);
}

#[test]
fn memory_that_nobody_touches_is_nowhere() {
    for what in ["untouched", "zeros"] {
        let run = run(what, &[]);
        let ledger = Ledger::of(&run);
        ledger.assert_adds_up(said(&run, "resident"));
        for row in ledger.rows() {
            let bytes = row["end"].as_f64().expect("a row has an end");
            assert!(row["layer"] == "heaplens" || bytes < 8.0 * MIB, "{what}: {row}");
        }
    }
}

#[test]
fn mapped_memory_has_its_maker() {
    let run = run("mapped", &[]);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("the mapping", ledger.mapped("hooked"), 32.0 * MIB, 0.0, 0.5 * MIB);
    let mappings = ledger.0.0["ledger_details"]["mappings"].as_array().into_iter().flatten();
    let maker =
        mappings.filter(|mapping| mapping["how"] == "hooked").map(|mapping| mapping["stack"].to_string());
    assert!(maker.into_iter().any(|stack| stack.contains("ledger.cpp")));
}

#[test]
fn shared_memory_and_stacks_have_their_lines() {
    let shared = Ledger::of(&run("shared", &[]));
    assert_near("shared memory", shared.mapped("shared"), 16.0 * MIB, 0.0, 0.5 * MIB);
    let run = run("stacks", &[]);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("stacks", ledger.end("thread-stacks"), 16.0 * MIB, 0.0, 0.5 * MIB);
}

/// Nobody waits for us any more: the last column is the last reading, and says so.
#[test]
fn a_killed_program_has_the_last_reading() {
    let run = Heaplens::on(&program("ledger.cpp"), &[]).arg("killed").finish().expect_status(128 + 9);
    let report = run.report();
    assert!(report.0["ledger"].is_null() || report.0["ledger_details"]["end"]["when"] == "running");
}

fn with_allocator(test: &str, library: &str, package: &str) {
    let Some(library) = allocator(library) else { return skip(test, &format!("{package} is not installed")) };
    let path = program("ledger.cpp");
    let run = Heaplens::on(&path, &[]).arg("blocks").env("LD_PRELOAD", &library).finish().expect_status(0);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("live blocks", ledger.end("native"), said(&run, "live"), 0.02, 0.0);
    let run = Heaplens::on(&path, &[]).arg("raw").env("LD_PRELOAD", &library).finish().expect_status(0);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_near("the mapping", ledger.mapped("unhooked"), 64.0 * MIB, 0.0, 0.5 * MIB);
}

#[test]
fn tcmalloc_adds_up() {
    let test = "ledger::native::tcmalloc_adds_up";
    with_allocator(test, "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4");
}

#[test]
fn jemalloc_adds_up() {
    with_allocator("ledger::native::jemalloc_adds_up", "libjemalloc.so.2", "libjemalloc2");
}

/// Samples of some 37 MiB in small blocks, one every 16 KiB, have a relative error of 1 / √2,368; six of these are 12 %.
#[test]
fn a_sampled_run_says_that_it_estimates() {
    let run = run("blocks", &["--sample", "16KiB"]);
    let ledger = Ledger::of(&run);
    ledger.assert_adds_up(said(&run, "resident"));
    assert_eq!(ledger.0.0["ledger_details"]["estimated"], true);
    assert_near("live blocks", ledger.end("native"), said(&run, "live"), 0.13, 0.0);
}
