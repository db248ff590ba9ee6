//! Handlers that allocate inside an allocation.

use crate::harness::{Heaplens, Report, Site, program};

/// Blocks that were allocated on stacks that begin in this function.
fn allocated_in(report: &Report, function: &str) -> i64 {
    let innermost = |site: &Site| {
        site.stack.first().is_some_and(|frame| frame.function.as_deref().is_some_and(|name| name == function))
    };
    report.sites().iter().filter(|site| innermost(site)).map(|site| site.amounts[3]).sum()
}

#[test]
fn a_storm_of_handlers_inside_malloc_is_recorded_or_counted() {
    let run = Heaplens::on(&program("signal_storm.c"), &[]).arg("5000").finish().expect_status(0);
    let (truth, report) = (run.truth(), run.report());
    let [handler, pairs] = truth.rows.as_slice() else { panic!("two rows: {:?}", truth.rows) };
    assert_eq!(Some(allocated_in(&report, "pair")), pairs.claims[3], "the program's own pairs");
    // A handler that comes inside a hook loses its malloc and its free.
    let lost = report.loss("inside another allocation") as i64;
    assert!(lost > 0, "no handler of five thousand came inside a hook");
    let seen = allocated_in(&report, "in_handler");
    assert_eq!(Some(seen + lost / 2), handler.claims[3], "{seen} recorded, {lost} counted as lost");
    let live: i64 = report.sites().iter().filter(|site| own(site)).map(|site| site.amounts[1]).sum();
    assert_eq!(live, 0, "everything was freed");
}

fn own(site: &Site) -> bool {
    site.stack.first().is_some_and(|frame| frame.file.as_deref() == Some("signal_storm.c"))
}
