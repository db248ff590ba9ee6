//! What the default mode and sampling may cost, and whether they keep to it.

use super::columns::{BARE, EXACT, MIXED_PEER, NATIVE_PEER, SAMPLED};
use super::measure::{Cost, Results};

const ALLOWED_EXTRA_KIB: f64 = 24.0 * 1024.0;

/// What is compared.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// The cost that Heaplens adds, in shares of what this tool adds.
    AddedOfPeer(&'static str),
    /// The cost that Heaplens adds, in shares of what it adds on another row.
    AddedOf(&'static str),
    /// CPU time in the default mode, in shares of bare.
    Exact,
    /// The same where the stacks have Python frames in them: a promise of its own, on the same numbers.
    Mixed,
    /// CPU time with samples, in shares of bare.
    Sampled,
    /// Resident memory in the default mode, after so many KiB are taken off, in shares of bare.
    Memory { free_kib: f64 },
}

/// One promise.
#[derive(Debug)]
struct Target {
    row: &'static str,
    measure: Measure,
    at_most: f64,
}

const fn target(row: &'static str, measure: Measure, at_most: f64) -> Target {
    Target { row, measure, at_most }
}

const TENSORFLOW_MEMORY: Measure = Measure::Memory { free_kib: ALLOWED_EXTRA_KIB };

const TARGETS: &[Target] = &[
    target("pairs-30", Measure::AddedOfPeer(NATIVE_PEER), 0.30),
    target("pairs-80", Measure::AddedOfPeer(NATIVE_PEER), 0.20),
    target("threads-16", Measure::AddedOf("threads-1"), 1.3),
    target("mixed", Measure::Exact, 2.0),
    target("mixed", Measure::Sampled, 1.05),
    target("nodes", Measure::Memory { free_kib: 0.0 }, 1.6),
    target("tf-import", Measure::Exact, 1.3),
    target("tf-eager", Measure::Exact, 1.35),
    target("tf-function", Measure::Exact, 1.25),
    target("tf-session", Measure::Exact, 1.25),
    target("tf-import", Measure::Sampled, 1.03),
    target("tf-eager", Measure::Sampled, 1.03),
    target("tf-function", Measure::Sampled, 1.03),
    target("tf-session", Measure::Sampled, 1.03),
    target("tf-import", TENSORFLOW_MEMORY, 1.25),
    target("tf-eager", TENSORFLOW_MEMORY, 1.25),
    target("tf-function", TENSORFLOW_MEMORY, 1.25),
    target("tf-session", TENSORFLOW_MEMORY, 1.25),
    target("py-objects", Measure::Mixed, 1.15),
    target("py-numpy", Measure::Mixed, 1.1),
    target("tf-import", Measure::Mixed, 1.35),
    target("tf-eager", Measure::Mixed, 1.4),
    target("tf-function", Measure::Mixed, 1.2),
    target("py-objects", Measure::AddedOfPeer(MIXED_PEER), 0.25),
    target("py-numpy", Measure::AddedOfPeer(MIXED_PEER), 0.25),
    target("tf-import", Measure::AddedOfPeer(MIXED_PEER), 0.25),
    target("tf-eager", Measure::AddedOfPeer(MIXED_PEER), 0.25),
    target("tf-function", Measure::AddedOfPeer(MIXED_PEER), 0.25),
];

/// A promise beside what was measured.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// The row that it is about.
    pub row: &'static str,
    /// What is compared, in words.
    pub what: String,
    /// The most that it may be.
    pub at_most: f64,
    /// What it is, where it was measured.
    pub found: Option<f64>,
}

impl Verdict {
    /// One word.
    pub fn word(&self) -> &'static str {
        match self.found {
            Some(found) if found <= self.at_most => "met",
            Some(_) => "**missed**",
            None => "not measured",
        }
    }
}

/// Judges the rows that were run.
pub fn verdicts(results: &Results) -> Vec<Verdict> {
    let ran = |target: &&Target| results.rows.iter().any(|(row, _)| row.name == target.row);
    TARGETS.iter().filter(ran).map(|target| target.judge(results)).collect()
}

impl Target {
    fn judge(&self, results: &Results) -> Verdict {
        let (row, at_most) = (self.row, self.at_most);
        Verdict { row, what: self.measure.words(), at_most, found: self.measure.find(row, results) }
    }
}

impl Measure {
    fn words(self) -> String {
        match self {
            Self::AddedOfPeer(peer) => format!("added CPU time, of what {peer} adds"),
            Self::AddedOf(row) => format!("added CPU time, of that in {row}"),
            Self::Exact => "CPU time, of bare".to_owned(),
            Self::Mixed => "CPU time with mixed stacks, of bare".to_owned(),
            Self::Sampled => "CPU time with 512 KiB samples, of bare".to_owned(),
            Self::Memory { free_kib: 0.0 } => "resident memory, of bare".to_owned(),
            Self::Memory { free_kib } => {
                format!("resident memory less {:.0} MiB, of bare", free_kib / 1024.0)
            }
        }
    }

    fn find(self, row: &str, results: &Results) -> Option<f64> {
        let cost = |column| results.cost(row, column);
        match self {
            Self::AddedOfPeer(peer) => Some(share(added(row, EXACT, results)?, added(row, peer, results)?)),
            Self::AddedOf(other) => Some(share(added(row, EXACT, results)?, added(other, EXACT, results)?)),
            Self::Exact | Self::Mixed => Some(cost(EXACT)?.cpu_ns / cost(BARE)?.cpu_ns),
            Self::Sampled => Some(cost(SAMPLED)?.cpu_ns / cost(BARE)?.cpu_ns),
            Self::Memory { free_kib } => Some((cost(EXACT)?.peak_kib - free_kib) / cost(BARE)?.peak_kib),
        }
    }
}

/// One added cost in shares of another. Minima of few runs can put a tool below bare: ours has then added nothing, and of a
/// peer's nothing no share is small enough.
fn share(ours: f64, of: f64) -> f64 {
    if ours <= 0.0 {
        0.0
    } else if of <= 0.0 {
        f64::INFINITY
    } else {
        ours / of
    }
}

/// What a tool adds to the bare CPU time of a row.
fn added(row: &str, column: &str, results: &Results) -> Option<f64> {
    let cpu_ns = |column| results.cost(row, column).map(|cost: Cost| cost.cpu_ns);
    Some(cpu_ns(column)? - cpu_ns(BARE)?)
}

#[cfg(test)]
mod tests {
    use super::super::family::Family;
    use super::super::measure::Cell;
    use super::super::rows::ROWS;
    use super::super::tool::Column;
    use super::*;

    fn results(rows: &[(&str, [f64; 4], f64)]) -> Results {
        let row = |name: &str| ROWS.iter().find(|row| row.name == name).unwrap();
        let cell = |cpu_ns, peak_kib| Cell::Cost(Cost { cpu_ns, peak_kib, after_ns: 0.0 });
        let cells = |costs: [f64; 4], memory: f64| {
            vec![cell(costs[0], 100_000.0), cell(costs[1], memory), cell(costs[2], 0.0), cell(costs[3], 0.0)]
        };
        // The last column stands for the peer of either family.
        let peer =
            if rows.iter().any(|(name, ..)| name.starts_with("py")) { MIXED_PEER } else { NATIVE_PEER };
        let column = |name| Column { name, families: &Family::ALL };
        Results {
            columns: [BARE, EXACT, SAMPLED, peer].map(column).to_vec(),
            rows: rows.iter().map(|(name, costs, memory)| (row(name), cells(*costs, *memory))).collect(),
        }
    }

    fn words(results: &Results) -> Vec<&'static str> {
        verdicts(results).iter().map(Verdict::word).collect()
    }

    #[test]
    fn what_is_added_is_compared_with_what_heaptrack_adds() {
        let verdict = &verdicts(&results(&[("pairs-30", [25.0, 125.0, 30.0, 525.0], 0.0)]))[0];
        assert_eq!((verdict.found, verdict.word()), (Some(0.2), "met"));
        assert_eq!(words(&results(&[("pairs-80", [25.0, 150.0, 30.0, 525.0], 0.0)])), ["**missed**"]);
    }

    #[test]
    fn exactly_the_limit_is_met() {
        assert_eq!(words(&results(&[("mixed", [100.0, 200.0, 106.0, 600.0], 0.0)])), ["met", "**missed**"]);
    }

    #[test]
    fn memory_on_tensorflow_has_something_free() {
        let memory = |peak| words(&results(&[("tf-import", [100.0, 100.0, 100.0, 100.0], peak)]))[2];
        assert_eq!(memory(125_000.0 + 24.0 * 1024.0), "met");
        assert_eq!(memory(125_001.0 + 24.0 * 1024.0), "**missed**");
    }

    #[test]
    fn python_has_a_limit_of_its_own_and_a_share_of_what_memray_adds() {
        let found = words(&results(&[("py-objects", [100.0, 114.0, 101.0, 150.0], 0.0)]));
        assert_eq!(found, ["met", "**missed**"]);
    }

    #[test]
    fn a_peer_that_adds_nothing_leaves_no_room() {
        let added = |ours, peer| words(&results(&[("py-numpy", [100.0, ours, 100.0, peer], 0.0)]))[1];
        assert_eq!(added(101.0, 99.0), "**missed**");
        assert_eq!(added(98.0, 99.0), "met");
    }

    #[test]
    fn a_target_whose_other_row_was_left_out_is_not_measured() {
        assert_eq!(words(&results(&[("threads-16", [25.0, 100.0, 30.0, 600.0], 0.0)])), ["not measured"]);
    }

    #[test]
    fn every_target_is_about_a_row() {
        assert!(TARGETS.iter().all(|target| ROWS.iter().any(|row| row.name == target.row)));
    }
}
