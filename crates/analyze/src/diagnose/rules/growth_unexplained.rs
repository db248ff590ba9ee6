//! G7: resident memory or the live heap grows, and no line accounts for it. The engine reports it when no other rule applies.

use crate::diagnose::evidence::Evidence;
use crate::diagnose::rule::{Finding, Outcome, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Memory grows, and no allocation site accounts for it"),
    verdict: Text::Plain("unexplained"),
    fix: Text::Plain("unknown: the growth is in none of the recorded blocks, objects or mappings"),
    outcome: Outcome::Unexplained,
    review: Some(leave_out_free),
    ..Rule::new("G7", "growth-unexplained", 270)
};

/// The fraction of the growth that must be known to be free memory for that to be the cause.
const MOST: f64 = 0.8;

/// Where little grew, half of it is enough.
const HALF: f64 = 0.5;
/// Little: less than this, or than a tenth of resident memory.
const LITTLE: f64 = (8 << 20) as f64;

/// Unexplained growth next to a leak is not a finding if it is free memory of the allocator between leaked blocks, or
/// file pages: a trim confirmed it, or the ledgers count it. Without a leak a little growth is none if most of it is such memory, or garbage that the
/// collector had not come to: more of either is fragmentation (C25), or cycles (C36).
fn leave_out_free(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let reclaimed = evidence.reclaimed;
    let known = reclaimed.by_trim.map_or(0.0, |bytes| bytes.get() as f64).max(reclaimed.by_ledger);
    let garbage: f64 = reclaimed.by_collection.values().sum();
    // Without the warm-up, which consists of one-time allocations.
    let grew =
        |finding: &Finding| finding.share.unwrap_or(1.0) * finding.trend.slope.value * reclaimed.length;
    if findings.iter().any(|finding| finding.rule.is_leak()) {
        findings.retain(|finding| *finding.rule != RULE || known < MOST * grew(finding));
    } else {
        let is_little = |grew: f64| grew < LITTLE.max(evidence.resident / 10.0);
        let is_known = |grew: f64| is_little(grew) && known + garbage >= HALF * grew;
        findings.retain(|finding| *finding.rule != RULE || !is_known(grew(finding)));
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::Bytes;

    use super::*;
    use crate::diagnose::reclaim_test::Reclaimed;
    use crate::diagnose::testing::{LENGTH, MIB, growth, reviewed, rising, unexplained};
    use crate::trend::{Shape, Slope, Trend};

    #[test]
    fn free_memory_between_what_leaks_is_no_finding_of_its_own() {
        let trimmed = |mib: u64| Reclaimed {
            by_trim: Some(Bytes::new(mib << 20)),
            length: LENGTH,
            ..Reclaimed::default()
        };
        let slope = Slope { value: MIB, low: MIB, high: MIB };
        let whole = Trend { slope, ..rising(Shape::Linear, 300.0 * MIB) };
        let left = || Finding { share: Some(0.1), ..unexplained(whole) };
        let leaks = || vec![growth(0, 90.0 * MIB), left()];
        let rules = |reclaimed: &Reclaimed, findings| reviewed(&RULE, reclaimed, findings, whole);
        assert_eq!(rules(&trimmed(9), leaks()), ["G1"]);
        assert_eq!(rules(&trimmed(4), leaks()), ["G1", "G7"], "most of it is elsewhere");
        assert_eq!(rules(&trimmed(4), vec![left()]), ["G7"]);
        let by_ledger = Reclaimed { by_ledger: 9.0 * MIB, ..trimmed(4) };
        assert_eq!(rules(&by_ledger, leaks()), ["G1"], "the ledgers count it");
    }

    #[test]
    fn a_little_growth_that_is_free_memory_or_garbage_is_none() {
        let slope = Slope { value: MIB / 10.0, low: MIB / 10.0, high: MIB / 10.0 };
        let whole = Trend { slope, ..rising(Shape::Linear, 10.0 * MIB) };
        let rules = |free: f64, garbage: f64, pace: f64| {
            let slope = Slope { value: pace, low: pace, high: pace };
            let by_collection = [(0, garbage * MIB)].into_iter().collect();
            let reclaimed =
                Reclaimed { by_ledger: free * MIB, by_collection, length: LENGTH, ..Reclaimed::default() };
            reviewed(&RULE, &reclaimed, vec![unexplained(Trend { slope, ..whole })], whole)
        };
        assert!(rules(6.0, 0.0, MIB / 10.0).is_empty() && rules(3.0, 3.0, MIB / 10.0).is_empty());
        assert_eq!(rules(4.0, 0.0, MIB / 10.0), ["G7"], "most of it is elsewhere");
        assert_eq!(rules(60.0, 0.0, MIB), ["G7"], "a fifth of what is resident");
    }
}
