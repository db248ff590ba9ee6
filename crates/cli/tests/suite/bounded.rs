//! Cost follows what is live and how many stacks there are, never how many events there were.

use crate::harness::{Heaplens, program};

const LIMIT: u64 = 64 << 20;

/// 10⁸ pairs in `cargo test`; the soak asks for more.
#[test]
fn a_hundred_million_pairs_stay_below_64_mebibytes() {
    let pairs = std::env::var("HEAPLENS_PAIRS").unwrap_or_else(|_| "100000000".to_owned());
    let run = Heaplens::on(&program("pairs.c"), &[]).arg(pairs).finish().expect_status(0);
    let recording = run.recording().metadata().expect("there is a recording").len();
    let arena = run.report().arena_bytes();
    assert!(recording < LIMIT, "the recording has {recording} bytes");
    assert!(arena < LIMIT, "the arena has {arena} bytes");
    run.assert_exact();
}

#[test]
fn more_events_do_not_make_a_larger_recording() {
    let size = |pairs: &str| {
        let run = Heaplens::on(&program("pairs.c"), &[]).arg(pairs).finish().expect_status(0);
        let report = run.report();
        (report.sites().len(), report.arena_bytes())
    };
    assert_eq!(size("10000"), size("3000000"));
}
