//! C36: reference cycles that Python's collector had not reclaimed yet: a heap snapshot saw them while they became more, with no
//! reference from outside, and they were freed when the loop was over, by a full collection at the end or by the program itself before it. That
//! alone proves nothing: what a function held is garbage when it has returned.

use heaplens_format::Bytes;
use heaplens_format::arena::counter::COLLECTOR_HELD;

use super::{cache_filling, site_growth, slowing_growth};
use crate::diagnose::evidence::Evidence;
use crate::diagnose::reclaim_test::Reclaimed;
use crate::diagnose::rule::{CollectedAtExit, Ending, Finding, GarbagePart, Outcome, Reads, Rule, Text};
use crate::profile::Category;
use crate::trend::{LEAST_OF_LINE, LEAST_TO_STOP};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Reference cycles created at this line await collection"),
    verdict: Text::Plain("cycle waiting for gc"),
    fix: Text::Plain("break the cycle, or call gc.collect() periodically"),
    outcome: Outcome::Ends(UNTIL_COLLECTED),
    noted: Some(COLLECTOR_HELD),
    holder: &HELD_BY_ITSELF,
    reads: &[Reads::Collection],
    review: Some(review),
    ..Rule::new("C36", "gc-cycle", 250)
};

/// How the verdict says that such growth ends.
pub(crate) const UNTIL_COLLECTED: Ending = Ending::After(" until the next garbage collection");

/// Garbage has no other holder.
pub(crate) const HELD_BY_ITSELF: [&str; 1] = ["no one: only references among themselves"];

/// The fraction of what was freed that must be objects of Python's for them to stand for all, and how many samples.
const LEAST_OBJECTS: f64 = 0.1;
const LEAST_SAMPLES: f64 = 16.0;
/// The fraction of the growth that a collection must free for this to be the cause.
const MOST: f64 = 0.8;
/// The fraction of the whole rise, one-time allocations included, that a collection must free, and that a snapshot must see as garbage.
const HALF: f64 = 0.5;

fn review(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    findings.retain(|finding| !will_be_collected(evidence, finding));
    findings.iter_mut().for_each(|finding| explain(evidence, finding));
}

/// Whether it is the garbage of a run that was shorter than the interval between two full collections: a small amount, freed
/// but for an insignificant rest, with the collector enabled, and held by nobody as far as that was seen. What grows in an object that
/// became garbage only because the loop ended looks the same where no snapshot was taken, hence the limit. A snapshot sees only a part of the
/// garbage that native memory takes part in: where collections come again and again, and free more each time than is left, the rest
/// is what was in use at one of them and waits for a full one.
fn will_be_collected(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    let (reclaimed, resident) = (evidence.reclaimed, evidence.resident);
    let (freed, rise) = (reclaimed.freed(&finding.sites), finding.trend.rise);
    // The growth that is certain: small objects are sampled, and young collections run in between.
    let surely = grew(reclaimed, finding, finding.trend.slope.low);
    let is_garbage = freed >= MOST * surely || surely - freed < LEAST_OF_LINE.max(resident / 2000.0);
    let is_little = rise < LEAST_TO_STOP.max(resident / 100.0);
    let comes_again = finding.trend.shed > surely;
    let was_held = !comes_again && garbage(evidence, finding).is_some_and(|seen| seen.part <= HALF);
    let is_collected = is_plain(finding) && !reclaimed.is_held_off && freed > HALF * surely;
    is_collected && is_garbage && is_little && !was_held
}

fn explain(evidence: &Evidence<'_>, finding: &mut Finding) {
    let reclaimed = evidence.reclaimed;
    let grew = grew(reclaimed, finding, finding.trend.slope.value);
    let is_most = |freed: f64| freed > 0.0 && freed >= MOST * grew && freed > HALF * finding.trend.rise;
    let by_collection = reclaimed.freed(&finding.sites);
    let since: f64 = finding.sites.iter().map(|&site| reclaimed.freed_since(site)).sum();
    if !is_most(by_collection) && !is_most(since) {
        return;
    }
    let freed = Some(Bytes::new(by_collection as u64)).filter(|_| is_most(by_collection));
    match (garbage(evidence, finding), freed) {
        (Some(seen), freed) if seen.part > HALF => {
            finding.rule = &RULE;
            (finding.reclaimed, finding.garbage) = (freed, Some(seen));
        }
        (seen, Some(freed)) => {
            finding.collected_at_exit = Some(CollectedAtExit { freed, was_held: seen.is_some() });
        }
        (_, None) => {}
    }
}

/// The part of what was freed at the end, by the collection or by the program before it, that was garbage while it became more; `None` where no
/// snapshot was taken then. Where enough of it were objects of Python's, it is their part: which of them are garbage their counts
/// say, and native memory goes with them when they are collected, whatever stale word seems to lead to it.
fn garbage(evidence: &Evidence<'_>, finding: &Finding) -> Option<GarbagePart> {
    let freed = finding.sites.iter().map(|&site| (site, evidence.reclaimed.freed_since(site)));
    let freed: Vec<(usize, f64)> = freed.filter(|(_, bytes)| *bytes > 0.0).collect();
    let is_object =
        |site: usize| evidence.known.sites.get(site).is_some_and(|site| site.category() == Category::Objects);
    let objects: Vec<(usize, f64)> = freed.iter().copied().filter(|&(site, _)| is_object(site)).collect();
    let [all, of_objects] = [&freed, &objects].map(|part| part.iter().map(|(_, bytes)| bytes).sum::<f64>());
    let sample = evidence.known.object_interval.map_or(0.0, |interval| interval.get() as f64);
    let of_objects = of_objects > 0.0 && of_objects >= (LEAST_OBJECTS * all).max(LEAST_SAMPLES * sample);
    let part = evidence.unreachable.garbage(if of_objects { objects } else { freed }.into_iter())?;
    Some(GarbagePart { part, of_objects })
}

/// Growth at this rate over the run. The rise includes one-time allocations at its beginning; the rate does not.
fn grew(reclaimed: &Reclaimed, finding: &Finding, slope: f64) -> f64 {
    let rise = finding.trend.rise.max(0.0);
    if is_plain(finding) { (slope * reclaimed.length).clamp(0.0, rise) } else { rise }
}

/// Whether only the growth of a line is known, and no cause.
fn is_plain(finding: &Finding) -> bool {
    [&site_growth::RULE, &cache_filling::RULE, &slowing_growth::RULE].contains(&finding.rule)
}

#[cfg(test)]
mod tests {
    use heaplens_format::memory::SiteKind;
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::diagnose::testing::{LENGTH, MIB, growth, reviewed_of, reviewed_with, rising, site_of};
    use crate::diagnose::unreachable::UnreachableParts;
    use crate::trend::{Shape, Slope, Trend};

    /// What becomes of findings where a snapshot saw all of their blocks as garbage.
    fn rules(reclaimed: &Reclaimed, findings: Vec<Finding>, rss: Shape) -> Vec<&'static str> {
        let seen = UnreachableParts::of_garbage(&[(0, 1.0), (1, 1.0), (2, 1.0)]);
        let reviewed = reviewed_with(&RULE, (reclaimed, &seen), findings, rising(rss, 100.0 * MIB));
        reviewed.iter().map(|finding| finding.rule.id).collect()
    }

    fn collected(mib: f64) -> Reclaimed {
        let by_collection = FxHashMap::from_iter([(0, mib * MIB)]);
        Reclaimed { by_collection, length: LENGTH, ..Reclaimed::default() }
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
    fn what_a_collection_at_the_end_frees_is_growth_unless_a_snapshot_saw_it_as_garbage() {
        let rss = rising(Shape::Linear, 100.0 * MIB);
        let found = |seen: &UnreachableParts| {
            let found = reviewed_with(&RULE, (&collected(6.0), seen), vec![growth(0, 6.0 * MIB)], rss);
            (found[0].rule.id, found[0].collected_at_exit)
        };
        let freed = Bytes::new(6 << 20);
        let of = |part: f64| UnreachableParts::of_garbage(&[(0, part)]);
        assert_eq!(found(&of(0.9)), ("C36", None));
        assert_eq!(found(&of(0.4)), ("G1", Some(CollectedAtExit { freed, was_held: true })));
        let unseen = Some(CollectedAtExit { freed, was_held: false });
        assert_eq!(found(&UnreachableParts::default()), ("G1", unseen), "no snapshot was taken");
    }

    /// Site 0 is native memory of the objects of site 1.
    #[test]
    fn what_counts_say_of_objects_holds_for_the_native_memory_that_is_freed_with_them() {
        let rss = rising(Shape::Linear, 100.0 * MIB);
        let sites = [SiteKind::Heap, SiteKind::PythonObject].map(site_of);
        let found = |objects: f64, part: f64| {
            let by_collection = FxHashMap::from_iter([(0, (6.0 - objects) * MIB), (1, objects * MIB)]);
            let collected = Reclaimed { by_collection, length: LENGTH, ..Reclaimed::default() };
            let seen = UnreachableParts::of_garbage(&[(0, 0.05), (1, part)]);
            let finding = Finding { sites: vec![0, 1], ..growth(0, 6.0 * MIB) };
            let found = reviewed_of(&RULE, &sites, (&collected, &seen), vec![finding], rss);
            (found[0].rule.id, found[0].garbage)
        };
        let of_objects = |part: f64| Some(GarbagePart { part, of_objects: true });
        assert_eq!(found(2.0, 0.9), ("C36", of_objects(0.9)));
        assert_eq!(found(2.0, 0.3), ("G1", None), "they are held");
        assert_eq!(found(0.3, 0.9), ("G1", None), "too few of them to stand for it");
    }

    #[test]
    fn garbage_that_the_program_collects_itself_before_its_end_is_garbage() {
        let by_program = FxHashMap::from_iter([(0, 6.0 * MIB)]);
        let reclaimed = Reclaimed { by_program, length: LENGTH, ..Reclaimed::default() };
        let rss = rising(Shape::Linear, 100.0 * MIB);
        let found = |part: f64| {
            let seen = UnreachableParts::of_garbage(&[(0, part)]);
            let found = reviewed_with(&RULE, (&reclaimed, &seen), vec![growth(0, 6.0 * MIB)], rss);
            (found[0].rule.id, found[0].reclaimed, found[0].collected_at_exit)
        };
        assert_eq!(found(0.9), ("C36", None, None), "the test had nothing left to free");
        assert_eq!(found(0.4), ("G1", None, None), "a list that is cleared at the end");
    }

    #[test]
    fn a_little_that_was_held_while_it_grew_is_growth_whatever_the_collection_frees() {
        let rss = rising(Shape::Linear, 100.0 * MIB);
        let left = |seen: &UnreachableParts| {
            reviewed_with(&RULE, (&collected(1.0), seen), vec![growth(0, MIB)], rss).len()
        };
        assert_eq!(left(&UnreachableParts::of_garbage(&[])), 1, "it was held");
        let sheds = |shed: f64| {
            let finding = growth(0, MIB);
            let finding = Finding { trend: Trend { shed, ..finding.trend }, ..finding };
            let seen = UnreachableParts::of_garbage(&[]);
            reviewed_with(&RULE, (&collected(1.0), &seen), vec![finding], rss).len()
        };
        assert_eq!(sheds(2.0 * MIB), 0, "more than is left is collected again and again");
        assert_eq!(sheds(0.1 * MIB), 1, "a little is");
        assert_eq!(left(&UnreachableParts::of_garbage(&[(0, 1.0)])), 0);
        assert_eq!(left(&UnreachableParts::default()), 0, "nobody looked");
    }

    #[test]
    fn what_a_line_made_once_before_it_grew_need_not_come_back() {
        let slope = Slope { value: 0.07 * MIB, low: 0.06 * MIB, high: 0.08 * MIB };
        let grows = || {
            vec![Finding { trend: Trend { slope, ..rising(Shape::Linear, 10.0 * MIB) }, ..growth(0, 0.0) }]
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
