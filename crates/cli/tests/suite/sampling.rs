//! `--sample`: estimates that are right on average, and a report that says that they are estimates.

use crate::harness::{Finished, Heaplens, Truth, program};

const RUNS: usize = 20;

fn sampled() -> Finished {
    Heaplens::on(&program("sampled.c"), &["--sample", "64KiB"]).finish().expect_status(0)
}

fn true_live(truth: &Truth) -> f64 {
    truth.rows.iter().filter_map(|row| row.claims[0]).sum::<i64>() as f64
}

/// Live bytes of the program's own lines.
fn estimated_live(run: &Finished) -> f64 {
    let own = |site: &crate::harness::Site| {
        site.stack.iter().any(|frame| frame.file.as_deref() == Some("sampled.c"))
    };
    run.report().sites().iter().filter(|site| own(site)).map(|site| site.amounts[0]).sum::<i64>() as f64
}

/// Half the width of the interval that the report gives for the live bytes.
fn margin(run: &Finished) -> f64 {
    run.report().0["sampled"]["live_bytes_margin"].as_f64().expect("a sampled report has margins")
}

/// Two chances to fail by bad luck, each below one in 100,000: a mean six standard errors away from the truth, and eight runs
/// of twenty outside intervals that hold 95 of 100.
#[test]
fn estimates_have_no_bias_and_lie_within_their_margin() {
    let runs: Vec<Finished> = (0..RUNS).map(|_| sampled()).collect();
    let truth = true_live(&runs[0].truth());
    let estimates: Vec<f64> = runs.iter().map(estimated_live).collect();
    let mean = estimates.iter().sum::<f64>() / RUNS as f64;
    let variance = estimates.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (RUNS - 1) as f64;
    let standard_error = (variance / RUNS as f64).sqrt();
    assert!(standard_error > 0.0, "twenty runs drew the same samples: {estimates:?}");
    assert!(
        (mean - truth).abs() < 6.0 * standard_error,
        "mean {mean}, truth {truth}, error {standard_error}"
    );
    let within =
        runs.iter().zip(&estimates).filter(|(run, estimate)| (*estimate - truth).abs() <= margin(run));
    let within = within.count();
    assert!(within > 12, "{within} of {RUNS} runs within their margin of {truth}: {estimates:?}");
}

#[test]
fn the_report_says_that_it_is_sampled() {
    let run = sampled();
    let output = Heaplens::bare(["report"]).arg(run.recording()).output().expect("heaplens starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("sampled"), "{text}");
    assert!(text.contains('±'), "totals carry their bound: {text}");
}

#[test]
fn sampling_records_far_fewer_blocks_than_there_are() {
    let exact = Heaplens::on(&program("many_small.c"), &[]).finish().expect_status(0).report().arena_bytes();
    let sampled = Heaplens::on(&program("many_small.c"), &["--sample", "512KiB"]).finish().expect_status(0);
    let arena = sampled.report().arena_bytes();
    assert!(arena * 2 < exact, "{arena} bytes sampled, {exact} bytes exact");
}
