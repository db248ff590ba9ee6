//! What was proved at the end of a script by asking for memory back: garbage of cycles by a collection, free memory of the
//! allocator by a trim.

use heaplens_format::Bytes;
use heaplens_format::arena::Counter;
use heaplens_format::recording::{Ledger, Line, MarkKind, Process, Stage};
use rustc_hash::{FxHashMap, FxHashSet};

use super::axis::Axis;
use super::findings::{Finding, Rule, unexplained};
use super::place::site_numbers;
use super::shape::{Shape, Trend};
use super::trainer;
use super::{Known, LEAST_OF_LINE, LEAST_TO_STOP};
use crate::profile::{SiteProfile, Stacks};

/// The part of what grew that must come back for it to be the reason.
const MOST: f64 = 0.8;
/// The part of a rise with its beginning that must come back, be it for what a program builds once; and of what came back,
/// the part that must be of a kind.
const HALF: f64 = 0.5;
/// Resident bytes that a trim must give back to be worth a word; or a tenth of what is resident.
const LEAST_TRIMMED: f64 = (8 << 20) as f64;

/// Bytes that came back; nothing where nothing was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Returned {
    /// What Python's collector freed, by the index of the site in the profile.
    by_collection: FxHashMap<usize, f64>,
    /// Sites among these that calls of Keras' trainer allocate at.
    of_trainer: FxHashSet<usize>,
    /// Resident bytes that the allocator gave back.
    by_trim: Option<Bytes>,
    /// Resident bytes more, by the ledgers, that are free in the allocator or pages of files.
    by_ledger: f64,
    /// Whether something kept the collector from coming by itself.
    is_held_off: bool,
    /// Iterations or seconds over which it was seen to grow.
    length: f64,
}

impl Returned {
    /// By the last test of a process, of which it is known what a trim gave back and what was live while it still grew. What
    /// was freed between that moment and the test was no free memory then.
    pub(super) fn of(known: Known<'_>, axis: &Axis, live: f64, length: f64) -> Self {
        let Known { process, stacks, sites, trimmed, .. } = known;
        let collection = last(process, Stage::Before).zip(last(process, Stage::Collected));
        let by_collection = match collection.filter(|(before, after)| before < after) {
            Some(marks) => collected(process, stacks, sites, marks),
            None => FxHashMap::default(),
        };
        let is_of_trainer = |site: &usize| trainer::allocates(stacks, sites[*site].stack);
        let of_trainer = by_collection.keys().copied().filter(is_of_trainer).collect();
        let at_test = last(process, Stage::Before).map_or(live, |mark| process.marks[mark].live.get() as f64);
        let freed = Bytes::new((live - at_test).max(0.0) as u64);
        let is_held_off = process.counters.notes.iter().any(|note| note.counter == Counter::CollectorHeld);
        let by_trim = trimmed.map(|bytes| bytes.saturating_sub(freed));
        let by_ledger = no_blocks(process, axis);
        Self { by_collection, of_trainer, by_trim, by_ledger, is_held_off, length }
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

    /// What the collection freed of it.
    pub(super) fn freed(&self, finding: &Finding) -> f64 {
        finding.sites.iter().filter_map(|site| self.by_collection.get(site)).sum()
    }

    fn freed_of_trainer(&self, finding: &Finding) -> f64 {
        let own = finding.sites.iter().filter(|site| self.of_trainer.contains(site));
        own.filter_map(|site| self.by_collection.get(site)).sum()
    }

    /// Whether it is the garbage of a run that was shorter than the time between two full collections: little of it, all but
    /// what would not matter came back, and the collector would have come. What grows in an object that is garbage only
    /// since the loop is over looks the same, hence no more than a little.
    fn will_be_collected(&self, finding: &Finding, resident: f64) -> bool {
        let (freed, rise) = (self.freed(finding), finding.trend.rise);
        let is_plain = matches!(finding.rule, Rule::LinearGrowth | Rule::CacheFilling);
        // As far as it is sure that it grew: of small objects a sample is known, and small collections come in between.
        let surely = self.grew(finding, finding.trend.slope.low);
        let is_garbage = freed >= MOST * surely || surely - freed < LEAST_OF_LINE.max(resident / 2000.0);
        let is_little = rise < LEAST_TO_STOP.max(resident / 100.0);
        is_plain && !self.is_held_off && freed > HALF * surely && is_garbage && is_little
    }

    /// What it grew by at this pace. A rise begins with what is made once; what still grows is known without that.
    fn grew(&self, finding: &Finding, slope: f64) -> f64 {
        let rise = finding.trend.rise.max(0.0);
        match finding.rule {
            Rule::LinearGrowth | Rule::CacheFilling => (slope * self.length).clamp(0.0, rise),
            _ => rise,
        }
    }

    /// What no line explains beside a leak is no finding where it was free memory of the allocator, between what leaks, or
    /// pages of files that were read: a trim proved it, or the ledgers count it.
    fn leave_out_free(&self, findings: &mut Vec<Finding>) {
        let known = self.by_trim.map_or(0.0, |bytes| bytes.get() as f64).max(self.by_ledger);
        // Without the warm-up, which rises by what is built once.
        let grew = |finding: &Finding| finding.share.unwrap_or(1.0) * finding.trend.slope.value * self.length;
        if findings.iter().any(|finding| finding.rule.is_leak()) {
            findings.retain(|finding| finding.rule != Rule::Unexplained || known < MOST * grew(finding));
        }
    }

    fn explain_cycles(&self, finding: &mut Finding) {
        let (freed, rise) = (self.freed(finding), finding.trend.rise);
        let grew = self.grew(finding, finding.trend.slope.value);
        if freed > 0.0 && freed >= MOST * grew && freed > HALF * rise {
            let is_of_trainer = self.freed_of_trainer(finding) > HALF * freed;
            finding.rule = if is_of_trainer { Rule::FitPerCall } else { Rule::Cycles };
            finding.returned = Some(Bytes::new(freed as u64));
        }
    }
}

/// What ledgers count more of at the end than when iterations began, and that is in no block: free memory of the allocator, and
/// pages of files.
fn no_blocks(process: &Process, axis: &Axis) -> f64 {
    let began = axis.moments.first().map_or(process.start, |moment| moment.at);
    let mut ledgers = process.ledgers.iter().filter(|ledger| ledger.at >= began);
    let bytes = |ledger: &Ledger| {
        [Line::AllocatorFree, Line::MappedFiles]
            .map(|line| ledger.line(line).get() as f64)
            .iter()
            .sum::<f64>()
    };
    let first = ledgers.next().map_or(0.0, bytes);
    ledgers.next_back().map_or(0.0, |last| bytes(last) - first)
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

    /// How many iterations there are, where it matters.
    const LENGTH: f64 = 100.0;

    /// A line that grows evenly, all the while.
    fn growth(site: usize, rise: f64) -> Finding {
        let pace = rise / LENGTH;
        let slope = Slope { value: pace, low: pace, high: pace };
        let trend = Trend { slope, ..rising(Shape::Linear, rise) };
        Finding { rule: Rule::LinearGrowth, sites: vec![site], ..unexplained(trend) }
    }

    fn rules(returned: &Returned, mut findings: Vec<Finding>, rss: Shape) -> Vec<Rule> {
        returned.explain(&mut findings, Some(&rising(rss, 100.0 * MIB)), 500.0 * MIB);
        findings.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn growth_that_a_collection_frees_is_cycles_and_the_rest_stays() {
        let collected = Returned {
            by_collection: FxHashMap::from_iter([(0, 6.0 * MIB), (1, 1.0 * MIB)]),
            length: LENGTH,
            ..Returned::default()
        };
        let growths = || vec![growth(0, 6.0 * MIB), growth(1, 4.0 * MIB), growth(2, MIB)];
        let expected = [Rule::Cycles, Rule::LinearGrowth, Rule::LinearGrowth];
        assert_eq!(rules(&collected, growths(), Shape::Linear), expected);
        assert_eq!(rules(&Returned::default(), growths(), Shape::Linear), [Rule::LinearGrowth; 3]);
    }

    #[test]
    fn what_a_line_made_once_before_it_grew_need_not_come_back() {
        let slope = Slope { value: 0.07 * MIB, low: 0.06 * MIB, high: 0.08 * MIB };
        let grows = || {
            vec![Finding { trend: Trend { slope, ..rising(Shape::Linear, 10.0 * MIB) }, ..growth(0, 0.0) }]
        };
        let collected = |mib: f64| Returned {
            by_collection: FxHashMap::from_iter([(0, mib * MIB)]),
            length: LENGTH,
            ..Returned::default()
        };
        assert_eq!(rules(&collected(6.5), grows(), Shape::Linear), [Rule::Cycles]);
        assert_eq!(rules(&collected(5.2), grows(), Shape::Linear), [Rule::LinearGrowth], "three quarters");
    }

    #[test]
    fn cycles_are_the_trainers_where_most_of_them_are() {
        let collected = |of_trainer: &[usize]| Returned {
            by_collection: FxHashMap::from_iter([(0, 6.0 * MIB), (1, 3.0 * MIB)]),
            of_trainer: of_trainer.iter().copied().collect(),
            length: LENGTH,
            ..Returned::default()
        };
        let grows = || vec![Finding { sites: vec![0, 1], ..growth(0, 9.0 * MIB) }];
        assert_eq!(rules(&collected(&[0]), grows(), Shape::Linear), [Rule::FitPerCall]);
        assert_eq!(rules(&collected(&[1]), grows(), Shape::Linear), [Rule::Cycles]);
    }

    #[test]
    fn a_little_garbage_is_no_finding_unless_the_collector_was_kept_away() {
        let by_collection = FxHashMap::from_iter([(0, 0.9 * MIB), (1, 0.3 * MIB)]);
        let collected = Returned { by_collection, length: LENGTH, ..Returned::default() };
        let growths = || vec![growth(0, MIB), growth(1, MIB)];
        assert_eq!(rules(&collected, growths(), Shape::Flat), [Rule::LinearGrowth], "a third of the other");
        let unsure = |low: f64| {
            let slope = Slope { low: low / LENGTH, ..growth(1, MIB).trend.slope };
            vec![Finding { trend: Trend { slope, ..rising(Shape::Linear, MIB) }, ..growth(1, MIB) }]
        };
        assert_eq!(rules(&collected, unsure(0.5 * MIB), Shape::Flat), [], "more need not have grown");
        assert_eq!(rules(&collected, unsure(0.7 * MIB), Shape::Flat), [Rule::LinearGrowth]);
        let held_off = Returned { is_held_off: true, ..collected };
        assert_eq!(rules(&held_off, growths(), Shape::Flat), [Rule::Cycles, Rule::LinearGrowth]);
    }

    #[test]
    fn free_memory_between_what_leaks_is_no_finding_of_its_own() {
        let trimmed = |mib: u64| Returned {
            by_trim: Some(Bytes::new(mib << 20)),
            length: LENGTH,
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
        let by_ledger = Returned { by_ledger: 9.0 * MIB, ..trimmed(4) };
        assert_eq!(rules(&by_ledger, leaks(), Shape::Linear), [Rule::LinearGrowth], "the ledgers count it");
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
