//! What the growth of a run comes from: lines and what else grows, each with the rule that holds for it. A finding says what was
//! measured; who holds the memory is not known here.

use heaplens_format::Bytes;
use heaplens_format::recording::Amount;

use super::causes::{Cause, Counting};
use super::growing_sites::{Course, Places, Sum};
use super::mappings::GrowingMapping;
use super::rule::Rule;
use super::rules::{self, growth_unexplained, mapping_growth, site_growth, threads as threads_rule};
use super::thread_growth::{self, Crowd, Threads};
use crate::profile::{Layer, Measure, SiteProfile};
use crate::trend::Axis;
use crate::trend::slope;
use crate::trend::{Demands, Shape, Trend};

/// A finding with less of the growth than this is not worth a reader's time.
const LEAST_SHARE: f64 = 0.02;
/// The most findings of a run.
const MOST: usize = 20;
/// Less than this part of the growth is explained: then it is not.
const EXPLAINED: f64 = 0.5;

/// Bytes that the growth of a cause must have to be judged by its shape.
const LEAST_OF_CAUSE: f64 = 4096.0;

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Whose memory it is; `None` where that is not known.
    pub layer: Option<Layer>,
    /// How it grows.
    pub trend: Trend,
    /// Its part of all growth, 0 to 1; `None` where that is not known.
    pub share: Option<f64>,
    /// Blocks per iteration; `None` where that is not known.
    pub blocks_per_iteration: Option<f64>,
    /// Live while the program still ran, at the last iteration that is known.
    pub live: Amount,
    /// Of the same sites when the script was through, or at the end where that is not known.
    pub held: Measure,
    /// Bytes that came back when they were asked for: the proof of a rule that has one.
    pub returned: Option<Bytes>,
    /// How threads become more, where these are what grows.
    pub threads: Option<Threads>,
    /// What was counted, where the rule is one of a library's.
    pub counting: Option<Counting>,
    /// The name of the mapping that grows, where it is one that nobody was seen to make; empty where it has none.
    pub mapping: Option<String>,
    /// The site that grows most, by its index in the profile; its line is the finding's.
    pub leader: Option<usize>,
    /// All sites of that line, by their indices.
    pub sites: Vec<usize>,
}

impl Finding {
    /// Where it will stop, where that can be told.
    pub fn stops_at(&self) -> Option<Bytes> {
        match self.trend.shape {
            Shape::Filling { level } if level.is_finite() => Some(Bytes::new(level.max(0.0) as u64)),
            _ => None,
        }
    }
}

/// What a line of the program has done.
pub(crate) struct Line<'a> {
    sum: &'a Sum,
    trend: Trend,
    threads: Option<Threads>,
    cause: Option<&'a Cause<'a>>,
}

/// The lines that rose enough to matter, with what they do. The stacks of threads are the lines' that start them.
/// What a library was counted to keep is believed however little it costs.
pub(super) fn lines<'a>(
    places: &'a Places<'_>,
    causes: &'a [Cause<'a>],
    crowd: Crowd<'_>,
    demands: Demands,
) -> Vec<Line<'a>> {
    let axis = crowd.axis;
    let least = Demands { least_rise: demands.least_rise.min(LEAST_OF_CAUSE), ..demands };
    let one = crowd.bytes_of_one(&places.all_threads(causes).blocks(axis));
    let with_threads = |trend: Trend, threads: Option<&Course>| match threads
        .and_then(|course| crowd.growing(&course.blocks(axis)))
    {
        Some(counts) => {
            (thread_growth::sum(&thread_growth::times(&counts, one), &trend), Some(crowd.told(&counts)))
        }
        None => (trend, None),
    };
    let of_causes = causes.iter().map(|cause| {
        let (trend, threads) = with_threads(cause.sum.trend(axis, least), Some(&cause.threads));
        Line { sum: &cause.sum, trend, threads, cause: Some(cause) }
    });
    let all = places.lines.iter().map(|(key, sum)| {
        let (trend, threads) = with_threads(sum.trend(axis, demands), places.threads.get(key));
        Line { sum, trend, threads, cause: None }
    });
    let is_alive = |line: &Line<'_>| line.cause.is_some_and(|cause| cause.is_alive);
    let matters =
        |line: &Line<'_>| line.threads.is_some() || is_alive(line) || line.trend.rise >= demands.least_rise;
    let mut lines: Vec<Line<'a>> = all.chain(of_causes).filter(matters).collect();
    lines.sort_by(|one, other| {
        other
            .trend
            .slope
            .value
            .total_cmp(&one.trend.slope.value)
            .then(one.sum.leader().cmp(&other.sum.leader()))
    });
    lines
}

/// Bytes that lines give up per iteration or second, steadily: what they had, others may have now.
pub(super) fn given_up(places: &Places<'_>, axis: &Axis, demands: Demands) -> f64 {
    let courses = places.lines.values().map(|sum| sum.course.bytes(axis));
    let falling = courses.filter(|series| series.first() - series.last() >= demands.least_rise);
    falling.map(|series| -slope(series.points()).value).filter(|&pace| pace > 0.0).sum()
}

impl Line<'_> {
    pub(crate) fn trend(&self) -> &Trend {
        &self.trend
    }

    /// The site that its line is told by.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.cause.map_or_else(|| self.sum.leader(), Cause::leader)
    }

    pub(super) fn starts_threads(&self) -> bool {
        self.threads.is_some()
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
        let blocks = self.sum.course.blocks(axis);
        let amount = |value: f64| value.max(0.0) as u64;
        let half = &blocks.points()[blocks.points().len() / 2..];
        let leader = self.leader();
        Finding {
            rule,
            layer: leader.map(|leader| sites[leader].layer),
            trend: self.trend,
            share: None,
            blocks_per_iteration: Some(slope(half).value),
            live: Amount { bytes: Bytes::new(amount(self.trend.level)), blocks: amount(blocks.last()) },
            held: held(&self.sum.sites, sites),
            returned: None,
            threads: self.threads,
            counting: self.cause.and_then(|cause| cause.counting.clone()),
            mapping: None,
            leader,
            sites: self.sum.sites.clone(),
        }
    }
}

fn held(of: &[usize], sites: &[SiteProfile]) -> Measure {
    let held = of.iter().map(|&site| sites[site].held);
    held.reduce(|one, other| Measure {
        bytes: one.bytes + other.bytes,
        blocks: one.blocks + other.blocks,
        margin: match (one.margin, other.margin) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        },
    })
    .unwrap_or_default()
}

/// Growth of lines, the fastest first, then what else is known to grow, then growth that nothing explains.
pub(super) fn of_lines(
    lines: &[Line<'_>],
    (threads, mappings): (Option<Finding>, Vec<Finding>),
    whole: Option<&Trend>,
    sites: &[SiteProfile],
    axis: &Axis,
) -> Vec<Finding> {
    let growing = || lines.iter().filter_map(|line| Some((line.rule()?, line)));
    let of_lines: f64 = growing().map(|(_, line)| line.trend.slope.value).sum();
    let growth_of_whole = whole.filter(|trend| trend.shape == Shape::Linear);
    let mappings = unaccounted(mappings, of_lines + slopes(&threads), growth_of_whole);
    let others: Vec<Finding> = threads.into_iter().chain(mappings).collect();
    let explained = of_lines + slopes(&others);
    let all = explained.max(growth_of_whole.map_or(0.0, |trend| trend.slope.value));
    let share = |trend: &Trend| (all > 0.0).then(|| trend.slope.value / all);
    let is_told = |line: &Line<'_>| line.threads.is_some() || line.cause.is_some();
    let matters = |line: &Line<'_>| is_told(line) || line.trend.slope.value >= LEAST_SHARE * all;
    let mut findings: Vec<Finding> = growing()
        .filter(|(_, line)| matters(line))
        .map(|(rule, line)| Finding { share: share(&line.trend), ..line.finding(rule, sites, axis) })
        .take(MOST)
        .collect();
    findings.extend(others.into_iter().map(|other| Finding { share: share(&other.trend), ..other }));
    if let Some(trend) = growth_of_whole.filter(|trend| explained < EXPLAINED * trend.slope.low) {
        findings.push(Finding { share: Some(1.0 - explained / all), ..unexplained(*trend) });
    }
    findings
}

/// A mapping that grows: its maker's line, or its name where nobody was seen to make it.
pub(super) fn of_mapping(mapping: GrowingMapping, sites: &[SiteProfile]) -> Finding {
    let GrowingMapping { name, maker, trend } = mapping;
    let bytes = Bytes::new(trend.level.max(0.0) as u64);
    let found = unexplained(trend);
    match maker {
        Some(maker) => Finding {
            rule: &site_growth::RULE,
            layer: Some(sites[maker].layer),
            live: Amount { bytes, blocks: sites[maker].held.blocks },
            held: sites[maker].held,
            leader: Some(maker),
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

/// Growth that is seen only in the whole.
pub(crate) fn unexplained(trend: Trend) -> Finding {
    Finding {
        rule: &growth_unexplained::RULE,
        layer: None,
        trend,
        share: None,
        blocks_per_iteration: None,
        live: Amount::default(),
        held: Measure::default(),
        returned: None,
        threads: None,
        counting: None,
        mapping: None,
        leader: None,
        sites: Vec::new(),
    }
}

/// Threads whose number grows by the time-line. They are told for the line that started most of those that are left, where
/// it is known.
pub(super) fn of_threads(
    crowd: Crowd<'_>,
    counts: &Trend,
    one: f64,
    starter: Option<(usize, Vec<usize>, u64)>,
    sites: &[SiteProfile],
) -> Finding {
    let trend = thread_growth::times(counts, one);
    let bytes = Bytes::new(trend.level.max(0.0) as u64);
    let found = Finding {
        rule: &threads_rule::RULE,
        threads: Some(crowd.told(counts)),
        live: Amount { bytes, blocks: counts.level.max(0.0) as u64 },
        ..unexplained(trend)
    };
    match starter.filter(|(_, _, threads)| *threads as f64 >= EXPLAINED * counts.rise) {
        Some((leader, of, _)) => Finding { leader: Some(leader), held: held(&of, sites), sites: of, ..found },
        None => found,
    }
}

/// How fast findings grow together.
fn slopes<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> f64 {
    findings.into_iter().map(|finding| finding.trend.slope.value).sum()
}

/// What grows per second: threads, what the heap grows by unless that is theirs, mappings, and what none of them explains of
/// the whole.
pub(super) fn together(
    threads: Option<Finding>,
    heap: Option<Finding>,
    mappings: Vec<Finding>,
    whole: Option<Trend>,
) -> Vec<Finding> {
    let is_theirs = |heap: &Finding| {
        let own = threads.as_ref().map_or(&[][..], |finding| &finding.sites);
        heap.leader.is_none() && threads.is_some() || heap.sites.iter().any(|site| own.contains(site))
    };
    let heap = heap.filter(|heap| !is_theirs(heap));
    let explained = slopes(&threads) + slopes(&heap);
    let mappings = unaccounted(mappings, explained, whole.as_ref());
    let explained = explained + slopes(&mappings);
    let whole = whole.filter(|trend| heap.is_none() && explained < EXPLAINED * trend.slope.low);
    threads.into_iter().chain(heap).chain(mappings).chain(whole.map(unexplained)).collect()
}

/// What the growth per second comes from, where no moments are known at which sites had how much: the line that holds most
/// of what the heap grew by, if one does.
pub(super) fn of_seconds(
    trend: Trend,
    held_by_lines: &[(Measure, usize, Vec<usize>)],
    sites: &[SiteProfile],
) -> Finding {
    let most = held_by_lines.iter().max_by_key(|(held, ..)| held.bytes);
    match most.filter(|(held, ..)| held.bytes.get() as f64 >= EXPLAINED * trend.rise) {
        Some((held, leader, of)) => Finding {
            rule: &site_growth::RULE,
            layer: Some(sites[*leader].layer),
            live: Amount { bytes: held.bytes, blocks: held.blocks },
            held: *held,
            leader: Some(*leader),
            sites: of.clone(),
            ..unexplained(trend)
        },
        None => unexplained(trend),
    }
}
