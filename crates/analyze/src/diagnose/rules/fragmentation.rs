//! C25: the allocator retains freed memory between live blocks; `malloc_trim` confirmed it.

use heaplens_format::Bytes;

use super::growth_unexplained;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::rule::{Ending, Finding, MeasuredBy, Outcome, Reads, Rule, Text};
use crate::trend::{Shape, Slope, Trend};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Fragmentation: the allocator retains freed memory"),
    verdict: Text::Plain("fragmentation"),
    // Remedies were measured: `cargo xtask bench --only fragmentation`. Fewer arenas and tcmalloc helped little or not at all.
    fix: Text::Plain(
        "call malloc_trim(0) when the program is idle, which returned the memory here; preloading jemalloc may also help",
    ),
    outcome: Outcome::Ends(Ending::Instead("freed memory retained by the allocator between live blocks")),
    measured_by: MeasuredBy::Reclaimed,
    reads: &[Reads::Trim],
    review: Some(review),
    ..Rule::new("C25", "fragmentation", 280)
};

/// Resident bytes that a trim must return to be reported; or a tenth of resident memory.
const LEAST_TRIMMED: f64 = (8 << 20) as f64;
/// The fraction of a rise that a trim must return.
const HALF: f64 = 0.5;

/// Replaces unexplained growth.
fn review(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let least = LEAST_TRIMMED.max(evidence.resident / 10.0);
    let Some(trimmed) = evidence.reclaimed.by_trim.filter(|bytes| bytes.get() as f64 >= least) else {
        return;
    };
    if let Some(rss) = evidence.rss.filter(|rss| rose(rss, trimmed)) {
        findings.retain(|finding| *finding.rule != growth_unexplained::RULE);
        let live: f64 = findings.iter().map(|finding| finding.trend.slope.value.max(0.0)).sum();
        findings.push(Finding { reclaimed: Some(trimmed), ..Finding::new(&RULE, beside(rss, live)) });
    }
}

/// How resident memory grows beside live memory that grows by so much per iteration.
fn beside(rss: &Trend, live: f64) -> Trend {
    let Slope { value, low, high } = rss.slope;
    let slope =
        Slope { value: (value - live).max(0.0), low: (low - live).max(0.0), high: (high - live).max(0.0) };
    Trend { slope, ..*rss }
}

/// Whether resident memory rose; a rise at the beginning only counts if most of it was returned.
fn rose(rss: &Trend, trimmed: Bytes) -> bool {
    match rss.shape {
        Shape::TooShort => false,
        Shape::Flat => rss.rise >= LEAST_TRIMMED && trimmed.get() as f64 >= HALF * rss.rise,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::reclaim_test::Reclaimed;
    use crate::diagnose::testing::{MIB, growth, reviewed, reviewed_with, rising, unexplained};
    use crate::diagnose::unreachable::UnreachableParts;

    #[test]
    fn resident_memory_that_a_trim_gives_back_is_fragmentation() {
        let rules = |mib: u64, findings, rss| {
            let trimmed = Reclaimed { by_trim: Some(Bytes::new(mib << 20)), ..Reclaimed::default() };
            reviewed(&RULE, &trimmed, findings, rss)
        };
        let of = |shape| rising(shape, 100.0 * MIB);
        let grows = || vec![unexplained(of(Shape::Linear))];
        assert_eq!(rules(90, grows(), of(Shape::Linear)), ["C25"]);
        assert_eq!(rules(90, vec![], of(Shape::Plateau)), ["C25"]);
        assert_eq!(rules(20, grows(), of(Shape::Linear)), ["G7"], "a tenth of all is usual");
        assert_eq!(rules(90, vec![], of(Shape::Flat)), ["C25"], "it rose at first");
        assert!(rules(45, vec![], of(Shape::Flat)).is_empty(), "most of what rose at first is in use");
        assert!(rules(90, vec![], rising(Shape::Flat, 0.0)).is_empty(), "it was so all the while");
    }

    #[test]
    fn growth_that_is_live_is_not_fragmentation() {
        let trimmed = Reclaimed { by_trim: Some(Bytes::new(90 << 20)), ..Reclaimed::default() };
        let live = growth(0, 50.0 * MIB);
        let pace = live.trend.slope;
        let twice = Slope { value: 2.0 * pace.value, low: 1.9 * pace.value, high: 2.1 * pace.value };
        let rss = Trend { slope: twice, ..rising(Shape::Linear, 100.0 * MIB) };
        let found = reviewed_with(&RULE, (&trimmed, &UnreachableParts::default()), vec![live], rss);
        let rules: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
        assert_eq!(rules, ["G1", "C25"]);
        let slope = found[1].trend.slope;
        assert!(
            (slope.value - pace.value).abs() < 1e-6 && slope.low < slope.value && slope.value < slope.high
        );
    }
}
