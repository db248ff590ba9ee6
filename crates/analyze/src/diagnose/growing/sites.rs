//! The series of sites and of the lines that they are named by. A line is the user's own that is nearest to the allocation;
//! all that it holds, in whatever layer, is one.

use heaplens_format::Bytes;
use heaplens_format::memory::{Category, ClaimedBy, Line, SiteKind};
use heaplens_format::recording::{Amount, History, Ledger};
use rustc_hash::FxHashMap;

use super::causes::{self, Cause, Shown};
use super::held_lines::starts_thread;
use super::residency::{MappedBytes, resident_part};
use super::site_sum::{SiteSum, line_key};
use crate::diagnose::known::Known;
use crate::profile::{Layer, LineKey, StackId, is_python_pool};
use crate::trend::{Axis, AxisMark, Shape, Thresholds, TimeSeries, trend};

/// Bytes that a site must rise by to give a cause away.
const LEAST_SHOWN: f64 = 512.0;

/// All sites that changed while the axis ran, by line and by layer, and how fast each grows.
#[derive(Debug, Default)]
pub(crate) struct GrowingSites<'a> {
    pub(crate) lines: FxHashMap<Option<LineKey<'a>>, SiteSum>,
    /// Of lines that start threads, the blocks that stand for one thread each.
    pub(crate) threads: FxHashMap<Option<LineKey<'a>>, TimeSeries>,
    pub(crate) layers: Vec<(Layer, SiteSum)>,
    pub(crate) slopes: FxHashMap<(StackId, SiteKind), f64>,
}

impl<'a> GrowingSites<'a> {
    /// Of all sites of a process; what a cause explains goes to it.
    pub(crate) fn of(
        known: Known<'a>,
        (axis, thresholds): (&Axis, Thresholds),
        causes: &mut Vec<Cause<'a>>,
    ) -> Self {
        let mut growing = Self::default();
        let histories = histories(known);
        // One after the other, and some twice: all of them together take more memory than anything else does.
        let by_site = || histories.chunk_by(|one, other| one.site == other.site);
        let shown = by_site().filter_map(|parts| shown(parts, known, axis, thresholds));
        causes::add_shown(causes, known.process, known.stacks, shown.collect());
        let is_mapped = |parts: &&[Part<'_>]| known.sites[parts[0].site].category() == Category::Anonymous;
        let mapped: Vec<&[Part<'_>]> = by_site().filter(is_mapped).collect();
        let resident = resident_part(&mapped_at_ledgers(known, &mapped), most(&mapped, axis));
        for parts in by_site() {
            let own = Thresholds { grain: known.grain(known.sites[parts[0].site].kind), ..thresholds };
            let values = time_series_of(parts, axis);
            let values = if is_mapped(&parts) { values.times(resident) } else { values };
            growing.add(known, parts[0].site, &values, (axis, own), causes);
        }
        growing
    }

    /// One site more, by its index in the profile.
    fn add(
        &mut self,
        known: Known<'a>,
        at: usize,
        values: &TimeSeries,
        (axis, thresholds): (&Axis, Thresholds),
        causes: &mut [Cause<'a>],
    ) {
        let (site, stacks) = (&known.sites[at], known.stacks);
        self.slopes.insert((site.stack, site.kind), slope_of(values, axis, thresholds));
        if is_python_pool(site, stacks) {
            return;
        }
        let line = stacks.line(site.stack).map(line_key);
        let mut cause = causes::claim(causes, stacks, (line, site.stack), (at, values.changed()));
        if let Some(cause) = &mut cause {
            cause.note_parts(stacks, site.stack, values);
        }
        let counts_threads = thresholds.grain == 0.0 && starts_thread(site, stacks);
        let (sum, threads) = match cause {
            Some(cause) => (&mut cause.sum, counts_threads.then_some(&mut cause.threads)),
            None => {
                let threads = counts_threads.then(|| self.threads.entry(line).or_default());
                (self.lines.entry(line).or_default(), threads)
            }
        };
        sum.add(at, values, thresholds.grain);
        threads.into_iter().for_each(|threads| threads.add(values));
        self.layer(site.layer).add(at, values, thresholds.grain);
    }

    /// Blocks that stand for one thread each, of all lines and causes.
    pub(crate) fn all_threads(&self, causes: &[Cause<'_>]) -> TimeSeries {
        let mut all = TimeSeries::default();
        let of_causes = causes.iter().map(|cause| &cause.threads);
        self.threads.values().chain(of_causes).for_each(|values| all.add(values));
        all
    }

    fn layer(&mut self, layer: Layer) -> &mut SiteSum {
        let at = self.layers.iter().position(|(known, _)| *known == layer).unwrap_or_else(|| {
            self.layers.push((layer, SiteSum::default()));
            self.layers.len() - 1
        });
        &mut self.layers[at].1
    }
}

/// The cause that a site gives away, where it rises steadily.
fn shown(parts: &[Part<'_>], known: Known<'_>, axis: &Axis, thresholds: Thresholds) -> Option<Shown> {
    if rise(parts, axis) <= LEAST_SHOWN {
        return None;
    }
    let shown = causes::shown_by(known.stacks, known.sites[parts[0].site].stack)?;
    let found = trend(&time_series_of(parts, axis).bytes(axis), thresholds.of_exact(LEAST_SHOWN));
    (found.shape == Shape::Linear).then_some(shown)
}

/// A site that hardly changed is not worth the comparison of all pairs.
fn slope_of(values: &TimeSeries, axis: &Axis, thresholds: Thresholds) -> f64 {
    if values.is_constant() {
        return 0.0;
    }
    let series = values.bytes(axis);
    if values.changed().abs() >= thresholds.least_rise {
        return trend(&series, thresholds).slope.value;
    }
    let points = series.points();
    let half = &points[points.len() / 2..];
    match (half.first(), half.last()) {
        (Some(first), Some(last)) if last.x > first.x => (last.y - first.y) / (last.x - first.x),
        _ => 0.0,
    }
}

/// What a part of a site had over time.
struct Part<'p> {
    /// The site by its index in the profile.
    site: usize,
    history: &'p History,
    end: Amount,
}

impl Part<'_> {
    fn at(&self, moment: &AxisMark) -> Amount {
        self.history.at(moment.mark).unwrap_or(self.end)
    }

    /// At each moment of an axis.
    fn at_all(&self, axis: &Axis) -> impl Iterator<Item = Amount> {
        let mut changes = self.history.changes.iter().peekable();
        axis.moments.iter().map(move |moment| {
            while changes.next_if(|change| change.until as usize <= moment.mark).is_some() {}
            changes.peek().map_or(self.end, |change| change.live)
        })
    }
}

/// All of them in the order of their sites.
fn histories<'p>(known: Known<'p>) -> Vec<Part<'p>> {
    let part = |history: &'p History| {
        let end = known.process.sites.get(history.site as usize)?.live;
        Some(Part { site: known.site_number(history.site)?, history, end })
    };
    let mut parts: Vec<Part<'p>> = known.process.histories.iter().filter_map(part).collect();
    parts.sort_by_key(|part| part.site);
    parts
}

/// What a site had at each moment, by its parts.
fn time_series_of(parts: &[Part<'_>], axis: &Axis) -> TimeSeries {
    let values = |amount: Amount| (amount.bytes.get() as i64 as f64, amount.blocks as i64 as f64);
    sum(parts.iter().map(|part| TimeSeries::new(part.at_all(axis).map(values))))
}

fn sum(all: impl Iterator<Item = TimeSeries>) -> TimeSeries {
    let sum = all.reduce(|mut sum, part| {
        sum.add(&part);
        sum
    });
    sum.unwrap_or_default()
}

/// The most that some sites had together at a moment of the axis.
fn most(sites: &[&[Part<'_>]], axis: &Axis) -> f64 {
    let all = sum(sites.iter().map(|parts| time_series_of(parts, axis)));
    all.bytes(axis).points().iter().map(|point| point.y).fold(0.0, f64::max)
}

/// What these sites had mapped when ledgers were taken, and what of anonymous mappings was resident then.
fn mapped_at_ledgers(known: Known<'_>, sites: &[&[Part<'_>]]) -> Vec<MappedBytes> {
    let lines = [ClaimedBy::Maker, ClaimedBy::NoMaker, ClaimedBy::Sharers].map(Line::of);
    let marks = &known.process.marks;
    let at = |ledger: &Ledger| {
        let mark = marks.partition_point(|mark| mark.at <= ledger.at).saturating_sub(1);
        let mapped = |part: &Part<'_>| part.history.at(mark).unwrap_or(part.end).bytes.get() as i64 as f64;
        let resident: Bytes = lines.iter().map(|&line| ledger.line(line)).sum();
        MappedBytes {
            mapped: sites.iter().copied().flatten().map(mapped).sum(),
            resident: resident.get() as f64,
        }
    };
    known.process.ledgers.iter().map(at).collect()
}

/// What a site had more at the last moment than at the first.
fn rise(parts: &[Part<'_>], axis: &Axis) -> f64 {
    let [Some(first), Some(last)] = [axis.moments.first(), axis.moments.last()] else { return 0.0 };
    let bytes = |part: &Part<'_>, moment: &AxisMark| part.at(moment).bytes.get() as i64 as f64;
    parts.iter().map(|part| bytes(part, last) - bytes(part, first)).sum()
}
