//! Small objects that Python cuts out of its own arenas: exact when all are recorded, else within what the report says.

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Heaplens};

fn run_on(python: &Interpreter, count: &str, options: &[&str]) -> Finished {
    eprintln!("Python {} at {}", python.version, python.path.display());
    let run = Heaplens::on(&python.path, options).arg(script("python_objects.py")).arg(count);
    run.finish().expect_status(0)
}

#[test]
fn every_line_has_its_objects_when_all_are_recorded() {
    let test = "python::objects::every_line_has_its_objects_when_all_are_recorded";
    for python in interpreters::versions(test) {
        run_on(&python, "3000", &["--python-allocations", "all"]).assert_exact();
    }
}

/// Live bytes of a line and how far off they may be, at 95 %: independent samples add up by their squares.
fn estimate(run: &Finished, line: u64) -> (f64, f64) {
    let report = run.report().whole();
    let own = |site: &&serde_json::Value| {
        let frames = site["stack"].as_array().into_iter().flatten();
        let mut own = frames
            .filter(|frame| frame["file"].as_str().is_some_and(|file| file.ends_with("python_objects.py")));
        site["layer"] == "python" && own.next().is_some_and(|frame| frame["line"].as_u64() == Some(line))
    };
    let sites = report["sites"].as_array().into_iter().flatten().filter(own);
    let (mut bytes, mut square) = (0.0, 0.0);
    for site in sites {
        bytes += site["live_bytes"].as_f64().unwrap_or_default();
        square += site["live_bytes_margin"].as_f64().unwrap_or_default().powi(2);
    }
    (bytes, square.sqrt())
}

/// Each line is off by more than three margins (six standard deviations) once in a hundred million runs.
#[test]
fn sampled_objects_are_what_the_report_says_within_its_margin() {
    let test = "python::objects::sampled_objects_are_what_the_report_says_within_its_margin";
    for python in interpreters::versions(test) {
        let run = run_on(&python, "30000", &[]);
        for row in &run.truth().rows {
            let truth = row.claims[0].expect("every row claims its live bytes") as f64;
            let (found, margin) = estimate(&run, row.line);
            assert!(margin > 0.0 && margin < truth / 5.0, "line {}: margin {margin} of {truth}", row.line);
            let off = (found - truth).abs();
            assert!(off <= 3.0 * margin, "line {}: {found} for {truth}, margin {margin}", row.line);
        }
    }
}

/// 16,384 live samples at most, whatever is alive: six million objects here.
#[test]
fn the_sample_is_thinned_when_objects_are_many() {
    let python = &interpreters::all("python::objects::the_sample_is_thinned_when_objects_are_many")[0];
    let run = run_on(python, "600000", &[]);
    let report = run.report();
    let interval = report.0["python"]["object_interval_bytes"].as_u64().expect("the interval is reported");
    assert!(interval > 4096, "{interval}");
    let truth = run.truth();
    let claims: Vec<(u64, f64)> =
        truth.rows.iter().map(|row| (row.line, row.claims[0].unwrap_or_default() as f64)).collect();
    let all: f64 = claims.iter().map(|(_, bytes)| bytes).sum();
    for (line, bytes) in claims {
        let (found, margin) = estimate(&run, line);
        assert!((found - bytes).abs() <= 3.0 * margin, "line {line}: {found} for {bytes} ± {margin}");
        if bytes > all / 10.0 {
            assert!(margin / 2.0 < 0.05 * bytes, "line {line}: margin {margin} of {bytes}");
        }
    }
}

#[test]
fn none_are_recorded_when_none_are_wanted() {
    let python = &interpreters::all("python::objects::none_are_recorded_when_none_are_wanted")[0];
    let report = run_on(python, "3000", &["--python-allocations", "none"]).report();
    assert!(report.sites().iter().all(|site| site.layer != "python"));
}
