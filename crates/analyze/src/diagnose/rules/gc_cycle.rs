//! C36: reference cycles that Python's collector had not reclaimed yet; a full collection confirmed it.

use heaplens_format::Bytes;
use heaplens_format::arena::counter::COLLECTOR_HELD;

use super::{cache_filling, site_growth};
use crate::diagnose::evidence::Evidence;
use crate::diagnose::reclaim_test::Reclaimed;
use crate::diagnose::rule::{Ending, Finding, Outcome, Reads, Rule, Text};
use crate::trend::{LEAST_OF_LINE, LEAST_TO_STOP};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Reference cycles created at this line await collection"),
    verdict: Text::Plain("cycle waiting for gc"),
    fix: Text::Plain("break the cycle, or call gc.collect() periodically"),
    outcome: Outcome::Ends(UNTIL_COLLECTED),
    noted: Some(COLLECTOR_HELD),
    reads: &[Reads::Collection],
    review: Some(review),
    ..Rule::new("C36", "gc-cycle", 250)
};

/// How the verdict says that such growth ends.
pub(crate) const UNTIL_COLLECTED: Ending = Ending::After(" until the next garbage collection");

/// The fraction of the growth that a collection must free for this to be the cause.
const MOST: f64 = 0.8;
/// The fraction of the whole rise, one-time allocations included, that a collection must free.
const HALF: f64 = 0.5;

fn review(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let (reclaimed, resident) = (evidence.reclaimed, evidence.resident);
    findings.retain(|finding| !will_be_collected(reclaimed, finding, resident));
    findings.iter_mut().for_each(|finding| explain(reclaimed, finding));
}

/// Whether it is the garbage of a run that was shorter than the interval between two full collections: a small amount, freed
/// but for an insignificant rest, with the collector enabled. What grows in an object that became garbage only
/// because the loop ended looks the same, hence the limit.
fn will_be_collected(reclaimed: &Reclaimed, finding: &Finding, resident: f64) -> bool {
    let (freed, rise) = (reclaimed.freed(&finding.sites), finding.trend.rise);
    // The growth that is certain: small objects are sampled, and young collections run in between.
    let surely = grew(reclaimed, finding, finding.trend.slope.low);
    let is_garbage = freed >= MOST * surely || surely - freed < LEAST_OF_LINE.max(resident / 2000.0);
    let is_little = rise < LEAST_TO_STOP.max(resident / 100.0);
    is_plain(finding) && !reclaimed.is_held_off && freed > HALF * surely && is_garbage && is_little
}

fn explain(reclaimed: &Reclaimed, finding: &mut Finding) {
    let (freed, rise) = (reclaimed.freed(&finding.sites), finding.trend.rise);
    let grew = grew(reclaimed, finding, finding.trend.slope.value);
    if freed > 0.0 && freed >= MOST * grew && freed > HALF * rise {
        finding.rule = &RULE;
        finding.reclaimed = Some(Bytes::new(freed as u64));
    }
}

/// Growth at this rate over the run. The rise includes one-time allocations at its beginning; the rate does not.
fn grew(reclaimed: &Reclaimed, finding: &Finding, slope: f64) -> f64 {
    let rise = finding.trend.rise.max(0.0);
    if is_plain(finding) { (slope * reclaimed.length).clamp(0.0, rise) } else { rise }
}

/// Whether only the growth of a line is known, and no cause.
fn is_plain(finding: &Finding) -> bool {
    [&site_growth::RULE, &cache_filling::RULE].contains(&finding.rule)
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::diagnose::testing::{LENGTH, MIB, growth, reviewed, rising};
    use crate::trend::{Shape, Slope, Trend};

    fn rules(reclaimed: &Reclaimed, findings: Vec<Finding>, rss: Shape) -> Vec<&'static str> {
        reviewed(&RULE, reclaimed, findings, rising(rss, 100.0 * MIB))
    }

    #[test]
    fn growth_that_a_collection_frees_is_cycles_and_the_rest_stays() {
        let collected = Reclaimed {
            by_collection: FxHashMap::from_iter([(0, 6.0 * MIB), (1, 1.0 * MIB)]),
            length: LENGTH,
            ..Reclaimed::default()
        };
        let growths = || vec![growth(0, 6.0 * MIB), growth(1, 4.0 * MIB), growth(2, MIB)];
        assert_eq!(rules(&collected, growths(), Shape::Linear), ["C36", "G1", "G1"]);
        assert_eq!(rules(&Reclaimed::default(), growths(), Shape::Linear), ["G1"; 3]);
    }

    #[test]
    fn what_a_line_made_once_before_it_grew_need_not_come_back() {
        let slope = Slope { value: 0.07 * MIB, low: 0.06 * MIB, high: 0.08 * MIB };
        let grows = || {
            vec![Finding { trend: Trend { slope, ..rising(Shape::Linear, 10.0 * MIB) }, ..growth(0, 0.0) }]
        };
        let collected = |mib: f64| Reclaimed {
            by_collection: FxHashMap::from_iter([(0, mib * MIB)]),
            length: LENGTH,
            ..Reclaimed::default()
        };
        assert_eq!(rules(&collected(6.5), grows(), Shape::Linear), ["C36"]);
        assert_eq!(rules(&collected(5.2), grows(), Shape::Linear), ["G1"], "three quarters");
    }

    #[test]
    fn a_little_garbage_is_no_finding_unless_the_collector_was_kept_away() {
        let by_collection = FxHashMap::from_iter([(0, 0.9 * MIB), (1, 0.3 * MIB)]);
        let collected = Reclaimed { by_collection, length: LENGTH, ..Reclaimed::default() };
        let growths = || vec![growth(0, MIB), growth(1, MIB)];
        assert_eq!(rules(&collected, growths(), Shape::Flat), ["G1"], "a third of the other");
        let unsure = |low: f64| {
            let slope = Slope { low: low / LENGTH, ..growth(1, MIB).trend.slope };
            vec![Finding { trend: Trend { slope, ..rising(Shape::Linear, MIB) }, ..growth(1, MIB) }]
        };
        assert!(rules(&collected, unsure(0.5 * MIB), Shape::Flat).is_empty(), "more need not have grown");
        assert_eq!(rules(&collected, unsure(0.7 * MIB), Shape::Flat), ["G1"]);
        let held_off = Reclaimed { is_held_off: true, ..collected };
        assert_eq!(rules(&held_off, growths(), Shape::Flat), ["C36", "G1"]);
    }
}
