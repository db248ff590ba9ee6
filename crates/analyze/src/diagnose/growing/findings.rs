//! What the growth of a run comes from: lines and what else grows, each with the rule that holds for it. A finding says what was
//! measured; who holds the memory is not known here.

use heaplens_format::Bytes;
use heaplens_format::recording::Amount;

use super::causes::Cause;
use super::mappings::GrowingMapping;
use super::overhead::Overhead;
use super::site_sum::SiteSum;
use super::sites::GrowingSites;
use super::threads::ThreadCounts;
use crate::diagnose::counting::ThreadGrowth;
use crate::diagnose::rule::{Finding, Rule};
use crate::diagnose::rules::{
    self, growth_unexplained, mapping_growth, site_growth, threads as threads_rule,
};
use crate::profile::{Layer, Measure, SiteProfile};
use crate::trend::{Axis, Point, Shape, Thresholds, TimeSeries, Trend, slope};

/// A finding with less of the growth than this is not worth a reader's time.
const LEAST_SHARE: f64 = 0.02;
/// The most findings of a run.
const MOST: usize = 20;
/// Less than this part of the growth is explained: then it is not.
const EXPLAINED: f64 = 0.5;

/// Bytes that the growth of a cause must have to be judged by its shape.
const LEAST_OF_CAUSE: f64 = 4096.0;

/// The factor by which a buffer must become larger at once, how often, and the part of the growth of resident memory that it must have room for.
const ENLARGED: f64 = 1.4;
const LEAST_TIMES: usize = 3;
const MOST_OF_WHOLE: f64 = 0.8;

/// What a line of the program has done.
pub(crate) struct GrowingLine<'a> {
    sum: &'a SiteSum,
    trend: Trend,
    threads: Option<ThreadGrowth>,
    cause: Option<&'a Cause<'a>>,
}

/// The lines that rose enough to matter, with what they do. The stacks of threads are the lines' that start them.
/// What a library was counted to keep is believed however little it costs.
pub(crate) fn lines<'a>(
    growing: &'a GrowingSites<'_>,
    causes: &'a [Cause<'a>],
    counted: ThreadCounts<'_>,
    thresholds: Thresholds,
) -> Vec<GrowingLine<'a>> {
    let axis = counted.axis;
    let least = Thresholds { least_rise: thresholds.least_rise.min(LEAST_OF_CAUSE), ..thresholds };
    let one = counted.bytes_of_one(&growing.all_threads(causes).blocks(axis));
    let with_threads = |trend: Trend, threads: Option<&TimeSeries>| match threads
        .and_then(|values| counted.growing(&values.blocks(axis)))
    {
        Some(counts) => (counts.times(one).with(&trend), Some(counted.growth(&counts))),
        None => (trend, None),
    };
    let of_causes = causes.iter().map(|cause| {
        let (trend, threads) = with_threads(cause.sum.trend(axis, least), Some(&cause.threads));
        GrowingLine { sum: &cause.sum, trend, threads, cause: Some(cause) }
    });
    let all = growing.lines.iter().map(|(key, sum)| {
        let (trend, threads) = with_threads(sum.trend(axis, thresholds), growing.threads.get(key));
        GrowingLine { sum, trend, threads, cause: None }
    });
    let is_alive = |line: &GrowingLine<'_>| line.cause.is_some_and(|cause| cause.is_alive);
    let matters = |line: &GrowingLine<'_>| {
        line.threads.is_some() || is_alive(line) || line.trend.rise >= thresholds.least_rise
    };
    let mut lines: Vec<GrowingLine<'a>> = all.chain(of_causes).filter(matters).collect();
    lines.sort_by(|one, other| {
        other
            .trend
            .slope
            .value
            .total_cmp(&one.trend.slope.value)
            .then(one.sum.representative().cmp(&other.sum.representative()))
    });
    lines
}

/// Bytes that lines give up per iteration or second, steadily: what they had, others may have now.
pub(crate) fn given_up(growing: &GrowingSites<'_>, axis: &Axis, thresholds: Thresholds) -> f64 {
    let values = growing.lines.values().map(|sum| sum.values.bytes(axis));
    let falling = values.filter(|series| series.first() - series.last() >= thresholds.least_rise);
    falling.map(|series| -slope(series.points()).value).filter(|&pace| pace > 0.0).sum()
}

impl GrowingLine<'_> {
    pub(crate) fn trend(&self) -> &Trend {
        &self.trend
    }

    /// The representative site, which its line is reported by.
    pub(crate) fn representative(&self) -> Option<usize> {
        self.cause.map_or_else(|| self.sum.representative(), Cause::representative)
    }

    pub(crate) fn starts_threads(&self) -> bool {
        self.threads.is_some()
    }

    /// Whether it has one buffer that is made larger by a factor whenever it is full, and holds what resident memory grows by: of a capacity only
    /// what is written is resident. One that was large from the beginning has an end.
    fn is_buffer_of(&self, whole: &Trend, axis: &Axis) -> bool {
        let (bytes, blocks) = (self.sum.values.bytes(axis), self.sum.values.blocks(axis));
        let pairs = bytes.points().windows(2).zip(blocks.points().windows(2));
        let is_enlarged = |bytes: &[Point], blocks: &[Point]| {
            bytes[0].y > 0.0 && bytes[1].y >= ENLARGED * bytes[0].y && blocks[0].y == blocks[1].y
        };
        let times = pairs.filter(|(bytes, blocks)| is_enlarged(bytes, blocks)).count();
        times >= LEAST_TIMES && self.trend.rise >= MOST_OF_WHOLE * whole.rise
    }

    fn rule(&self) -> Option<&'static Rule> {
        let holds = |rule: &&&'static Rule| {
            rule.of_line.is_some_and(|holds| holds(&self.trend, self.threads.as_ref()))
        };
        match self.cause {
            Some(cause) => Some(cause.rule()),
            None => rules::all().iter().find(holds).copied(),
        }
    }

    fn finding(&self, rule: &'static Rule, sites: &[SiteProfile], axis: &Axis) -> Finding {
        let blocks = self.sum.values.blocks(axis);
        let amount = |value: f64| value.max(0.0) as u64;
        let half = &blocks.points()[blocks.points().len() / 2..];
        let representative = self.representative();
        Finding {
            rule,
            layer: representative.map(|representative| sites[representative].layer),
            trend: self.trend,
            share: None,
            blocks_per_iteration: Some(slope(half).value),
            overhead: 0.0,
            live: Amount { bytes: Bytes::new(amount(self.trend.level)), blocks: amount(blocks.last()) },
            held: held(&self.sum.sites, sites),
            reclaimed: None,
            garbage: None,
            overcounted: None,
            kept_by: None,
            collected_at_exit: None,
            fill: None,
            threads: self.threads,
            counting: self.cause.and_then(|cause| cause.counting.clone()),
            mapping: None,
            representative,
            sites: self.sum.sites.clone(),
        }
    }
}

fn held(of: &[usize], sites: &[SiteProfile]) -> Measure {
    let mut sum = Measure::default();
    of.iter().for_each(|&site| sum.add(sites[site].held));
    sum
}

/// Growth of lines, the fastest first, then what else is known to grow, then growth that nothing explains.
pub(crate) fn of_lines(
    lines: &[GrowingLine<'_>],
    (threads, mappings): (Option<Finding>, Vec<Finding>),
    whole: Option<&Trend>,
    (sites, overhead): (&[SiteProfile], Overhead),
    axis: &Axis,
) -> Vec<Finding> {
    let growing = || lines.iter().filter_map(|line| Some((line.rule()?, line)));
    let overhead =
        |line: &GrowingLine<'_>| line.trend.slope.value.max(0.0) * overhead.part(&line.sum.sites, sites);
    let of_lines: f64 = growing().map(|(_, line)| line.trend.slope.value + overhead(line)).sum();
    let growth_of_whole = whole.filter(|trend| trend.shape == Shape::Linear);
    let mappings = unaccounted(mappings, of_lines + slopes(&threads), growth_of_whole);
    let others: Vec<Finding> = threads.into_iter().chain(mappings).collect();
    let explained = of_lines + slopes(&others);
    let all = explained.max(growth_of_whole.map_or(0.0, |trend| trend.slope.value));
    let share = |slope: f64| (all > 0.0).then(|| slope / all);
    let is_reported = |line: &GrowingLine<'_>| line.threads.is_some() || line.cause.is_some();
    let matters = |line: &GrowingLine<'_>| is_reported(line) || line.trend.slope.value >= LEAST_SHARE * all;
    let mut findings: Vec<Finding> = growing()
        .filter(|(_, line)| matters(line))
        .map(|(rule, line)| {
            let (overhead, found) = (overhead(line), line.finding(rule, sites, axis));
            Finding { share: share(line.trend.slope.value + overhead), overhead, ..found }
        })
        .take(MOST)
        .collect();
    findings
        .extend(others.into_iter().map(|other| Finding { share: share(other.trend.slope.value), ..other }));
    if let Some(trend) = growth_of_whole.filter(|trend| explained < EXPLAINED * trend.slope.low) {
        let buffer = lines.iter().find(|line| line.is_buffer_of(trend, axis));
        let found = match buffer {
            Some(line) => Finding { trend: *trend, ..line.finding(&site_growth::RULE, sites, axis) },
            None => Finding::new(&growth_unexplained::RULE, *trend),
        };
        findings.push(Finding { share: Some(1.0 - explained / all), ..found });
    }
    findings
}

/// A mapping that grows: its maker's line, or its name where nobody was seen to make it.
pub(crate) fn of_mapping(mapping: GrowingMapping, sites: &[SiteProfile]) -> Finding {
    let GrowingMapping { name, maker, trend } = mapping;
    let bytes = Bytes::new(trend.level.max(0.0) as u64);
    let found = Finding::new(&growth_unexplained::RULE, trend);
    match maker {
        Some(maker) => Finding {
            rule: &site_growth::RULE,
            layer: Some(sites[maker].layer),
            live: Amount { bytes, blocks: sites[maker].held.blocks },
            held: sites[maker].held,
            representative: Some(maker),
            sites: vec![maker],
            ..found
        },
        None => Finding {
            rule: &mapping_growth::RULE,
            layer: Some(Layer::MappedAnonymous),
            mapping: Some(name),
            live: Amount { bytes, blocks: 0 },
            ..found
        },
    }
}

/// Mappings that grow by what nothing else explains of the whole: the ledger may count the memory of a line as theirs.
fn unaccounted(mappings: Vec<Finding>, explained: f64, whole: Option<&Trend>) -> Vec<Finding> {
    let mut left = match whole {
        Some(whole) => whole.slope.value - explained,
        None if explained == 0.0 => f64::INFINITY,
        None => 0.0,
    };
    let mut is_left = |finding: &Finding| {
        let slope = finding.trend.slope.value;
        let is_left = left >= EXPLAINED * slope;
        left -= if is_left { slope } else { 0.0 };
        is_left
    };
    mappings.into_iter().filter(|finding| is_left(finding)).collect()
}

/// Threads whose number grows by the time-line. They are reported for the line that started most of those that are left, where
/// it is known.
pub(crate) fn of_threads(
    counted: ThreadCounts<'_>,
    counts: &Trend,
    one: f64,
    starter: Option<(usize, Vec<usize>, u64)>,
    sites: &[SiteProfile],
) -> Finding {
    let trend = counts.times(one);
    let bytes = Bytes::new(trend.level.max(0.0) as u64);
    let found = Finding {
        rule: &threads_rule::RULE,
        threads: Some(counted.growth(counts)),
        live: Amount { bytes, blocks: counts.level.max(0.0) as u64 },
        ..Finding::new(&growth_unexplained::RULE, trend)
    };
    match starter.filter(|(_, _, threads)| *threads as f64 >= EXPLAINED * counts.rise) {
        Some((representative, of, _)) => {
            Finding { representative: Some(representative), held: held(&of, sites), sites: of, ..found }
        }
        None => found,
    }
}

/// How fast findings grow together.
fn slopes<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> f64 {
    findings.into_iter().map(|finding| finding.trend.slope.value).sum()
}

/// What grows per second: threads, what the heap grows by unless that is theirs, mappings, and what none of them explains of
/// the whole.
pub(crate) fn together(
    threads: Option<Finding>,
    heap: Option<Finding>,
    mappings: Vec<Finding>,
    whole: Option<Trend>,
) -> Vec<Finding> {
    let is_theirs = |heap: &Finding| {
        let own = threads.as_ref().map_or(&[][..], |finding| &finding.sites);
        heap.representative.is_none() && threads.is_some() || heap.sites.iter().any(|site| own.contains(site))
    };
    let heap = heap.filter(|heap| !is_theirs(heap));
    let explained = slopes(&threads) + slopes(&heap);
    let mappings = unaccounted(mappings, explained, whole.as_ref());
    let explained = explained + slopes(&mappings);
    let whole = whole.filter(|trend| heap.is_none() && explained < EXPLAINED * trend.slope.low);
    threads
        .into_iter()
        .chain(heap)
        .chain(mappings)
        .chain(whole.map(|trend| Finding::new(&growth_unexplained::RULE, trend)))
        .collect()
}

/// What the growth per second comes from, where no moments are known at which sites had how much: the line that holds most
/// of what the heap grew by, if one does.
pub(crate) fn of_seconds(
    trend: Trend,
    held_by_lines: &[(Measure, usize, Vec<usize>)],
    sites: &[SiteProfile],
) -> Finding {
    let most = held_by_lines.iter().max_by_key(|(held, ..)| held.bytes);
    match most.filter(|(held, ..)| held.bytes.get() as f64 >= EXPLAINED * trend.rise) {
        Some((held, representative, of)) => Finding {
            rule: &site_growth::RULE,
            layer: Some(sites[*representative].layer),
            live: Amount { bytes: held.bytes, blocks: held.blocks },
            held: *held,
            representative: Some(*representative),
            sites: of.clone(),
            ..Finding::new(&growth_unexplained::RULE, trend)
        },
        None => Finding::new(&growth_unexplained::RULE, trend),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a line is what resident memory grows by, which has these bytes and blocks at equal distances.
    fn is_buffer(amounts: &[(f64, f64)], rise_of_whole: f64) -> bool {
        let axis = Axis::of_marks(amounts.len());
        let mut sum = SiteSum::default();
        sum.add(0, &TimeSeries::new(amounts.iter().copied()), 0.0);
        let trend = sum.trend(&axis, Thresholds::OF_ITERATIONS);
        let line = GrowingLine { sum: &sum, trend, threads: None, cause: None };
        let whole = Trend { shape: Shape::Linear, rise: rise_of_whole, ..Trend::FLAT };
        line.is_buffer_of(&whole, &axis)
    }

    #[test]
    fn a_buffer_that_is_doubled_again_and_again_is_what_is_written() {
        let capacity =
            |at: i32| f64::from(1 << 20).max(f64::from((at.max(1) as u32).next_power_of_two() << 20));
        let one = |at: i32| (capacity(at), 1.0);
        let doubled: Vec<(f64, f64)> = (0..60).map(one).collect();
        assert!(is_buffer(&doubled, 57e6), "six times, up to 64 MiB");
        assert!(!is_buffer(&doubled, 200e6), "resident memory grows by more than it holds");
        let twice: Vec<(f64, f64)> = (14..60).map(one).collect();
        assert!(!is_buffer(&twice, 40e6), "twice");
        let more: Vec<(f64, f64)> = (0..60).map(|at| (capacity(at), f64::from(at))).collect();
        assert!(!is_buffer(&more, 57e6), "more blocks");
        assert!(!is_buffer(&[(64e6, 1.0); 60], 57e6), "as large as that from the beginning");
    }
}
