//! C25: the allocator retains freed memory between live blocks; `malloc_trim` confirmed it.

use heaplens_format::Bytes;

use super::growth_unexplained;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::rule::{Ending, Finding, MeasuredBy, Outcome, Reads, Rule, Text};
use crate::trend::{Shape, Trend};

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
        findings.push(Finding { reclaimed: Some(trimmed), ..Finding::new(&RULE, *rss) });
    }
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
    use crate::diagnose::testing::{MIB, reviewed, rising, unexplained};

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
}
