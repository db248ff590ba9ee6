//! What was proved at the end of a script by asking for memory back: garbage of cycles by a collection, free memory of the
//! allocator by a trim.

use heaplens_format::Bytes;
use heaplens_format::arena::Counter;
use heaplens_format::recording::{MarkKind, Process, Stage};
use rustc_hash::FxHashMap;

use super::findings::{Finding, Rule, unexplained};
use super::place::site_numbers;
use super::shape::{Shape, Trend};
use super::{Known, LEAST_OF_LINE, LEAST_TO_STOP};
use crate::profile::{SiteProfile, Stacks};

/// The part of what grew that must come back for it to be the reason.
const MOST: f64 = 0.8;
/// The part of a rise at the beginning of the run that must come back: what a program builds once is no fragmentation.
const HALF: f64 = 0.5;
/// Resident bytes that a trim must give back to be worth a word; or a tenth of what is resident.
const LEAST_TRIMMED: f64 = (8 << 20) as f64;

/// Bytes that came back; nothing where nothing was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Returned {
    /// What Python's collector freed, by the index of the site in the profile.
    by_collection: FxHashMap<usize, f64>,
    /// Resident bytes that the allocator gave back.
    by_trim: Option<Bytes>,
    /// Whether something kept the collector from coming by itself.
    is_held_off: bool,
    /// Iterations or seconds over which it was seen to grow.
    length: f64,
}

impl Returned {
    /// By the last test of a process, of which it is known what a trim gave back and what was live while it still grew. What
    /// was freed between that moment and the test was no free memory then.
    pub(super) fn of(known: Known<'_>, live: f64, length: f64) -> Self {
        let Known { process, stacks, sites, trimmed, .. } = known;
        let collection = last(process, Stage::Before).zip(last(process, Stage::Collected));
        let by_collection = match collection.filter(|(before, after)| before < after) {
            Some(marks) => collected(process, stacks, sites, marks),
            None => FxHashMap::default(),
        };
        let at_test = last(process, Stage::Before).map_or(live, |mark| process.marks[mark].live.get() as f64);
        let freed = Bytes::new((live - at_test).max(0.0) as u64);
        let is_held_off = process.counters.notes.iter().any(|note| note.counter == Counter::CollectorHeld);
        let by_trim = trimmed.map(|bytes| bytes.saturating_sub(freed));
        Self { by_collection, by_trim, is_held_off, length }
    }

    /// Gives findings the reason that was proved.
    pub(super) fn explain(&self, findings: &mut Vec<Finding>, rss: Option<&Trend>, resident: f64) {
        findings.retain(|finding| !self.will_be_collected(finding, resident));
        findings.iter_mut().for_each(|finding| self.explain_cycles(finding));
        self.leave_out_free(findings);
        let least = LEAST_TRIMMED.max(resident / 10.0);
        if let Some(trimmed) = self.by_trim.filter(|bytes| bytes.get() as f64 >= least)
            && let Some(rss) = rss.filter(|rss| rose(rss, trimmed))
        {
            findings.retain(|finding| finding.rule != Rule::Unexplained);
            findings.push(Finding {
                rule: Rule::Fragmentation,
                returned: Some(trimmed),
                ..unexplained(*rss)
            });
        }
    }

    fn freed(&self, finding: &Finding) -> f64 {
        finding.sites.iter().filter_map(|site| self.by_collection.get(site)).sum()
    }

    /// Whether it is the garbage of a run that was shorter than the time between two full collections: little of it, all but
    /// what would not matter came back, and the collector would have come. What grows in an object that is garbage only
    /// since the loop is over looks the same, hence no more than a little.
    fn will_be_collected(&self, finding: &Finding, resident: f64) -> bool {
        let (freed, rise) = (self.freed(finding), finding.trend.rise);
        let is_plain = matches!(finding.rule, Rule::LinearGrowth | Rule::CacheFilling);
        // As far as it is sure that it grew: of small objects a sample is known, and a rise begins with what is made once.
        let surely = (finding.trend.slope.low * self.length).clamp(0.0, rise);
        let is_garbage = freed >= MOST * surely || rise - freed < LEAST_OF_LINE.max(resident / 2000.0);
        let is_little = rise < LEAST_TO_STOP.max(resident / 100.0);
        is_plain && !self.is_held_off && freed > 0.5 * rise && is_garbage && is_little
    }

    /// What no line explains beside a leak is no finding where it was free memory of the allocator, between what leaks.
    fn leave_out_free(&self, findings: &mut Vec<Finding>) {
        let trimmed = self.by_trim.map_or(0.0, |bytes| bytes.get() as f64);
        // Without the warm-up, which rises by what is built once.
        let grew = |finding: &Finding| finding.share.unwrap_or(1.0) * finding.trend.slope.value * self.length;
        if findings.iter().any(|finding| finding.rule.is_leak()) {
            findings.retain(|finding| finding.rule != Rule::Unexplained || trimmed < MOST * grew(finding));
        }
    }

    fn explain_cycles(&self, finding: &mut Finding) {
        let freed = self.freed(finding);
        if freed > 0.0 && freed >= MOST * finding.trend.rise {
            (finding.rule, finding.returned) = (Rule::Cycles, Some(Bytes::new(freed as u64)));
        }
    }
}

/// Whether resident memory rose, be it at the beginning only, where most of that rise is what came back.
fn rose(rss: &Trend, trimmed: Bytes) -> bool {
    match rss.shape {
        Shape::TooShort => false,
        Shape::Flat => rss.rise >= LEAST_TRIMMED && trimmed.get() as f64 >= HALF * rss.rise,
        _ => true,
    }
}

/// The last mark of a stage, by its index.
pub(super) fn last(process: &Process, wanted: Stage) -> Option<usize> {
    process
        .marks
        .iter()
        .rposition(|mark| matches!(mark.kind, MarkKind::Test { stage, .. } if stage == wanted))
}

fn collected(
    process: &Process,
    stacks: &Stacks,
    sites: &[SiteProfile],
    (before, after): (usize, usize),
) -> FxHashMap<usize, f64> {
    let numbers = site_numbers(sites);
    let mut freed = FxHashMap::default();
    for history in &process.histories {
        let Some(site) = process.sites.get(history.site as usize) else { continue };
        let Some(&at) = numbers.get(&(stacks.of(site.node), site.kind)) else { continue };
        let live = |mark| history.at(mark).unwrap_or(site.live).bytes.get() as i64;
        *freed.entry(at).or_default() += (live(before) - live(after)) as f64;
    }
    freed
}

#[cfg(test)]
mod tests {
    use super::super::slope::Slope;
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    fn rising(shape: Shape, rise: f64) -> Trend {
        Trend { shape, rise, ..Trend::FLAT }
    }

    fn growth(site: usize, rise: f64) -> Finding {
        Finding { rule: Rule::LinearGrowth, sites: vec![site], ..unexplained(rising(Shape::Linear, rise)) }
    }

    fn rules(returned: &Returned, mut findings: Vec<Finding>, rss: Shape) -> Vec<Rule> {
        returned.explain(&mut findings, Some(&rising(rss, 100.0 * MIB)), 500.0 * MIB);
        findings.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn growth_that_a_collection_frees_is_cycles_and_the_rest_stays() {
        let collected = Returned {
            by_collection: FxHashMap::from_iter([(0, 6.0 * MIB), (1, 1.0 * MIB)]),
            ..Returned::default()
        };
        let growths = || vec![growth(0, 6.0 * MIB), growth(1, 4.0 * MIB), growth(2, MIB)];
        let expected = [Rule::Cycles, Rule::LinearGrowth, Rule::LinearGrowth];
        assert_eq!(rules(&collected, growths(), Shape::Linear), expected);
        assert_eq!(rules(&Returned::default(), growths(), Shape::Linear), [Rule::LinearGrowth; 3]);
    }

    #[test]
    fn a_little_garbage_is_no_finding_unless_the_collector_was_kept_away() {
        let by_collection = FxHashMap::from_iter([(0, 0.9 * MIB), (1, 0.3 * MIB)]);
        let collected = Returned { by_collection, ..Returned::default() };
        let growths = || vec![growth(0, MIB), growth(1, MIB)];
        assert_eq!(rules(&collected, growths(), Shape::Flat), [Rule::LinearGrowth], "a third of the other");
        let held_off = Returned { is_held_off: true, ..collected };
        assert_eq!(rules(&held_off, growths(), Shape::Flat), [Rule::Cycles, Rule::LinearGrowth]);
    }

    #[test]
    fn free_memory_between_what_leaks_is_no_finding_of_its_own() {
        let trimmed = |mib: u64| Returned {
            by_trim: Some(Bytes::new(mib << 20)),
            length: 100.0,
            ..Returned::default()
        };
        let slope = Slope { value: MIB, low: MIB, high: MIB };
        let whole = Trend { slope, ..rising(Shape::Linear, 300.0 * MIB) };
        let left = || Finding { share: Some(0.1), ..unexplained(whole) };
        let leaks = || vec![growth(0, 90.0 * MIB), left()];
        assert_eq!(rules(&trimmed(9), leaks(), Shape::Linear), [Rule::LinearGrowth]);
        let both = [Rule::LinearGrowth, Rule::Unexplained];
        assert_eq!(rules(&trimmed(4), leaks(), Shape::Linear), both, "most of it is elsewhere");
        assert_eq!(rules(&trimmed(9), vec![left()], Shape::Linear), [Rule::Unexplained]);
    }

    #[test]
    fn resident_memory_that_a_trim_gives_back_is_fragmentation() {
        let trimmed = |mib: u64| Returned { by_trim: Some(Bytes::new(mib << 20)), ..Returned::default() };
        let grows = || vec![unexplained(rising(Shape::Linear, 100.0 * MIB))];
        assert_eq!(rules(&trimmed(90), grows(), Shape::Linear), [Rule::Fragmentation]);
        assert_eq!(rules(&trimmed(90), vec![], Shape::Plateau), [Rule::Fragmentation]);
        assert_eq!(
            rules(&trimmed(20), grows(), Shape::Linear),
            [Rule::Unexplained],
            "a tenth of all is usual"
        );
        assert_eq!(rules(&trimmed(90), vec![], Shape::Flat), [Rule::Fragmentation], "it rose at first");
        assert_eq!(rules(&trimmed(45), vec![], Shape::Flat), [], "most of what rose at first is in use");
        let mut still = Vec::new();
        trimmed(90).explain(&mut still, Some(&rising(Shape::Flat, 0.0)), 500.0 * MIB);
        assert_eq!(still, [], "it was so all the while");
    }
}
