//! Findings made by hand, for tests of rules that review findings.

use heaplens_format::memory::{SiteKind, Tables};
use heaplens_format::recording::{Process, ThreadOf};

use super::evidence::Evidence;
use super::known::Known;
use super::reclaim_test::Reclaimed;
use super::rule::{Finding, Rule};
use super::rules::{growth_unexplained, site_growth};
use super::unreachable::UnreachableParts;
use crate::profile::{Layer, Measure, SiteProfile, StackId, Stacks};
use crate::trend::{Shape, Slope, Trend};

pub(crate) const MIB: f64 = (1 << 20) as f64;
/// How many iterations there are, where it matters.
pub(crate) const LENGTH: f64 = 100.0;

pub(crate) fn rising(shape: Shape, rise: f64) -> Trend {
    Trend { shape, rise, ..Trend::FLAT }
}

/// A line that grows evenly, all the while.
pub(crate) fn growth(site: usize, rise: f64) -> Finding {
    let pace = rise / LENGTH;
    let slope = Slope { value: pace, low: pace, high: pace };
    let trend = Trend { slope, ..rising(Shape::Linear, rise) };
    Finding { rule: &site_growth::RULE, sites: vec![site], ..unexplained(trend) }
}

/// Growth that no line explains.
pub(crate) fn unexplained(trend: Trend) -> Finding {
    Finding::new(&growth_unexplained::RULE, trend)
}

/// What a rule makes of findings in a process of 500 MiB: their identifiers. It must read nothing of the process itself.
pub(crate) fn reviewed(
    rule: &Rule,
    reclaimed: &Reclaimed,
    findings: Vec<Finding>,
    rss: Trend,
) -> Vec<&'static str> {
    let reviewed = reviewed_with(rule, (reclaimed, &UnreachableParts::default()), findings, rss);
    reviewed.iter().map(|finding| finding.rule.id).collect()
}

/// The same with what a heap snapshot saw, and the findings themselves.
pub(crate) fn reviewed_with(
    rule: &Rule,
    seen: (&Reclaimed, &UnreachableParts),
    findings: Vec<Finding>,
    rss: Trend,
) -> Vec<Finding> {
    reviewed_of(rule, &[], seen, findings, rss)
}

/// The same with the sites, by the numbers that findings have.
pub(crate) fn reviewed_of(
    rule: &Rule,
    sites: &[SiteProfile],
    (reclaimed, unreachable): (&Reclaimed, &UnreachableParts),
    mut findings: Vec<Finding>,
    rss: Trend,
) -> Vec<Finding> {
    let (process, stacks) = (Process::default(), Stacks::default());
    let known = Known { sites, ..known_of(&process, &stacks) };
    let evidence = Evidence { known, reclaimed, unreachable, rss: Some(&rss), resident: 500.0 * MIB };
    rule.review.expect("it reviews findings")(&evidence, &mut findings);
    findings
}

/// What is known of a process without sites.
pub(crate) fn known_of<'a>(process: &'a Process, stacks: &'a Stacks) -> Known<'a> {
    Known {
        process,
        is_helper: false,
        stacks,
        sites: &[],
        site_numbers: &[],
        iterations: None,
        heap_interval: None,
        object_interval: None,
        trimmed: None,
        tables: Tables::default(),
    }
}

/// A site of which only its kind matters.
pub(crate) fn site_of(kind: SiteKind) -> SiteProfile {
    let none = Measure::default();
    SiteProfile {
        kind,
        layer: Layer::Native,
        live: none,
        held: none,
        peak: none,
        allocated: none,
        stack: StackId::default(),
        thread: ThreadOf::default(),
    }
}
