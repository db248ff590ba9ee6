//! Where every resident byte is: the ledger against what programs, allocators and interpreters say about themselves.

mod forked;
mod middle;
mod native;
mod python;

use crate::harness::{Finished, Report};
use serde_json::Value;

const MIB: f64 = (1 << 20) as f64;

/// A ledger at the end of a run, in bytes.
struct Ledger(Report);

impl Ledger {
    fn of(run: &Finished) -> Self {
        Self(run.report())
    }

    fn rows(&self) -> &[Value] {
        self.0.0["ledger"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Bytes of a layer at a moment.
    fn at(&self, layer: &str, moment: &str) -> f64 {
        let row = self.rows().iter().find(|row| row["layer"] == layer);
        row.and_then(|row| row[moment].as_f64())
            .unwrap_or_else(|| panic!("no {layer} at the {moment}: {:?}", self.rows()))
    }

    /// Bytes of a layer at the end.
    fn end(&self, layer: &str) -> f64 {
        self.at(layer, "end")
    }

    /// Bytes at the end by how they were mapped: `hooked`, `unhooked`, `shared`, `file`.
    fn mapped(&self, how: &str) -> f64 {
        let mappings = self.0.0["ledger_details"]["mappings"].as_array().into_iter().flatten();
        mappings.filter(|mapping| mapping["how"] == how).filter_map(|mapping| mapping["end"].as_f64()).sum()
    }

    /// When the ledger at the end was taken.
    fn end_is(&self) -> &Value {
        &self.0.0["ledger_details"]["end"]["when"]
    }

    /// Panics unless every moment adds up to the resident memory that is quoted, and the end to what the kernel reported to the
    /// program, each within 1 % and 4 MiB, and little is left over.
    fn assert_adds_up(&self, resident: f64) {
        let sum = |moment: &str| -> f64 { self.rows().iter().filter_map(|row| row[moment].as_f64()).sum() };
        let own = |moment: &str| self.at("heaplens", moment);
        assert_near("RSS by the kernel", sum("end"), resident, 0.01, 4.0 * MIB);
        for moment in ["start", "end"] {
            let quoted = self.0.0["rss"][moment].as_f64().expect("RSS is known");
            assert_near(moment, sum(moment) - own(moment), quoted, 0.0, 0.0);
        }
        for moment in ["start", "peak", "end"] {
            let left = self.at("unexplained", moment);
            let most = 0.02 * (sum(moment) - own(moment));
            assert!(left <= most, "{left} of {moment} unexplained: {:?}", self.rows());
        }
    }
}

/// Panics unless two values agree within a part of the second and some bytes.
fn assert_near(what: &str, found: f64, truth: f64, part: f64, bytes: f64) {
    let most = part * truth + bytes;
    assert!((found - truth).abs() <= most, "{what}: {found} for {truth}, {most} apart at most");
}

/// What a program said: `ledger NAME BYTES`.
fn said(run: &Finished, name: &str) -> f64 {
    said_in(&run.stdout(), name)
}

fn said_in(stdout: &str, name: &str) -> f64 {
    let line = stdout.lines().find_map(|line| line.strip_prefix(&format!("ledger {name} ")));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("no {name} in:\n{stdout}"))
}
