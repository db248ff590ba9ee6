//! A child that began by `fork`: what its parent left it has a line of its own, whether the pages are still shared or not.

use super::{Ledger, MIB, assert_near, said};
use crate::harness::{Heaplens, program};

#[test]
fn what_a_child_inherited_is_distinguished_from_its_own() {
    let run = Heaplens::on(&program("fork_inherits.c"), &["--quiet"]).finish().expect_status(0);
    let stdout = run.stdout();
    let child = stdout.lines().find_map(|line| line.strip_prefix("child ")).expect("the child speaks");
    let ledger = Ledger(run.report_on(child.parse().expect("a number")));
    ledger.assert_adds_up(said(&run, "resident"));
    assert_eq!(ledger.end_is(), "exit");
    assert_near("inherited", ledger.end("inherited"), said(&run, "inherited"), 0.02, MIB);
    assert_near("its own", ledger.end("native"), said(&run, "own"), 0.02, 0.0);
    assert!(
        ledger.end("mapped-anonymous") < MIB && ledger.end("allocator-free") < MIB,
        "{:?}",
        ledger.rows()
    );
    assert!(run.report().0["findings"].as_array().is_none_or(Vec::is_empty), "nothing of it is a leak");
    assert_eq!(ledger.0.0["findings"].as_array().map(Vec::len), Some(0), "nor in the child");
    let parent = Ledger::of(&run);
    assert!(parent.rows().iter().all(|row| row["layer"] != "inherited"), "the parent inherited nothing");
}
