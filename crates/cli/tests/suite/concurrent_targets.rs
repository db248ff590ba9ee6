//! Several runs at once do not disturb each other.

use std::thread;

use crate::harness::{Heaplens, program};

#[test]
fn four_runs_at_once_are_exact() {
    let sources = ["threads.c", "fork_tree.c", "peak.c", "threads.c"];
    let runs = sources.map(|source| {
        let path = program(source);
        thread::spawn(move || Heaplens::on(&path, &[]).finish().expect_status(0).assert_exact())
    });
    for run in runs {
        run.join().expect("every run is exact");
    }
}
