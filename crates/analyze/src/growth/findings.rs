//! What the growth of a run comes from, by rules that hold for any program. A finding says what was measured; who holds the
//! memory is not known here.

use heaplens_format::Bytes;
use heaplens_format::recording::Amount;

use super::Axis;
use super::place::{Places, Sum};
use super::shape::{Demands, Shape, Trend};
use super::slope::slope;
use crate::profile::{Layer, Measure, SiteProfile};

/// A finding with less of the growth than this is not worth a reader's time.
const LEAST_SHARE: f64 = 0.02;
/// The most findings of a run.
const MOST: usize = 20;
/// Less than this part of the growth is explained: then it is not.
const EXPLAINED: f64 = 0.5;

/// A cause of growth, as far as it can be told without knowing who holds the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// G1: what a line allocates grows at the same pace until the end.
    LinearGrowth,
    /// G2: what a line allocates grows ever slower: a cache that is bound to stop.
    CacheFilling,
    /// G3: the allocator holds free memory between blocks that are live; trimming proved it.
    Fragmentation,
    /// G4: cycles that Python's collector had not come to yet; collecting proved it.
    Cycles,
    /// G7: resident memory or the live heap grows, and no line explains it.
    Unexplained,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
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
pub(super) struct Line<'a> {
    sum: &'a Sum,
    trend: Trend,
}

/// The lines that rose enough to matter, with what they do.
pub(super) fn lines<'a>(places: &'a Places<'_>, axis: &Axis, demands: Demands) -> Vec<Line<'a>> {
    let all = places.lines.values().map(|sum| Line { sum, trend: sum.trend(axis, demands) });
    let mut lines: Vec<Line<'a>> = all.filter(|line| line.trend.rise >= demands.least_rise).collect();
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

impl Line<'_> {
    pub(super) fn trend(&self) -> &Trend {
        &self.trend
    }

    fn rule(&self) -> Option<Rule> {
        match self.trend.shape {
            Shape::Linear => Some(Rule::LinearGrowth),
            Shape::Filling { .. } => Some(Rule::CacheFilling),
            _ => None,
        }
    }

    fn finding(&self, rule: Rule, sites: &[SiteProfile], axis: &Axis) -> Finding {
        let blocks = self.sum.course.blocks(axis);
        let amount = |value: f64| value.max(0.0) as u64;
        let half = &blocks.points()[blocks.points().len() / 2..];
        Finding {
            rule,
            layer: self.sum.leader().map(|leader| sites[leader].layer),
            trend: self.trend,
            share: None,
            blocks_per_iteration: Some(slope(half).value),
            live: Amount { bytes: Bytes::new(amount(self.trend.level)), blocks: amount(blocks.last()) },
            held: held(&self.sum.sites, sites),
            returned: None,
            leader: self.sum.leader(),
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

/// Growth of lines, the fastest first, then growth that no line explains.
pub(super) fn of_lines(
    lines: &[Line<'_>],
    whole: Option<&Trend>,
    sites: &[SiteProfile],
    axis: &Axis,
) -> Vec<Finding> {
    let growing = || lines.iter().filter_map(|line| Some((line.rule()?, line)));
    let explained: f64 = growing().map(|(_, line)| line.trend.slope.value).sum();
    let growth_of_whole = whole.filter(|trend| trend.shape == Shape::Linear);
    let all = explained.max(growth_of_whole.map_or(0.0, |trend| trend.slope.value));
    let matters = |line: &Line<'_>| line.trend.slope.value >= LEAST_SHARE * all;
    let mut findings: Vec<Finding> = growing()
        .filter(|(_, line)| matters(line))
        .map(|(rule, line)| Finding {
            share: Some(line.trend.slope.value / all),
            ..line.finding(rule, sites, axis)
        })
        .take(MOST)
        .collect();
    if let Some(trend) = growth_of_whole.filter(|trend| explained < EXPLAINED * trend.slope.low) {
        findings.push(Finding { share: Some(1.0 - explained / all), ..unexplained(*trend) });
    }
    findings
}

/// Growth that is seen only in the whole.
pub(super) fn unexplained(trend: Trend) -> Finding {
    Finding {
        rule: Rule::Unexplained,
        layer: None,
        trend,
        share: None,
        blocks_per_iteration: None,
        live: Amount::default(),
        held: Measure::default(),
        returned: None,
        leader: None,
        sites: Vec::new(),
    }
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
            rule: Rule::LinearGrowth,
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
