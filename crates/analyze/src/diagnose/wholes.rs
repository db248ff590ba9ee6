//! What a process does as a whole: its resident memory, its layers, and the lines of its ledgers.

use heaplens_format::memory::{Line, Space};
use heaplens_format::recording::Ledger;

use super::growing::GrowingSites;
use super::known::Known;
use crate::profile::Layer;
use crate::trend::{Axis, Shape, Slope, Thresholds, Trend, trend};

/// The part of the growth by readings that ledgers must see.
const BELIEVED: f64 = 0.75;

/// A trend of resident memory with the pace that was counted.
fn slower(found: &Trend, pace: f64, thresholds: Thresholds) -> Trend {
    let part = (pace / found.slope.value).max(0.0);
    let Slope { value, low, high } = found.slope;
    let rise = part * found.rise;
    Trend {
        shape: if rise < thresholds.least_rise { Shape::Flat } else { found.shape },
        slope: Slope { value: part * value, low: part * low, high: part * high },
        rise,
        ..*found
    }
}

impl Known<'_> {
    /// What resident memory does; `None` where there are no readings.
    pub(super) fn of_rss(self, axis: &Axis, thresholds: Thresholds) -> Option<Trend> {
        let series = axis.timeline(self.process, |sample| sample.rss.get());
        let thresholds = Thresholds { least_rise: self.least_of_whole(), ..thresholds };
        let found = (!self.process.timeline.is_empty()).then(|| trend(&series, thresholds))?;
        Some(match self.counted_pace(axis, series.length()) {
            Some(pace) if pace < BELIEVED * found.slope.low => slower(&found, pace, thresholds),
            _ => found,
        })
    }

    /// How fast the program's resident memory grew from the first ledger to the last, where they cover most of the series.
    /// Readings leave out an estimate of our own memory, which grows with threads; ledgers leave out what they counted.
    fn counted_pace(self, axis: &Axis, length: f64) -> Option<f64> {
        let counted = axis.ledgers(self.process, Ledger::program);
        let (points, covered) = (counted.points(), counted.length());
        let (first, last) = (points.first()?, points.last()?);
        (covered > 0.5 * length).then(|| (last.y - first.y) / covered)
    }

    /// All layers that have sites; those that did not change are flat.
    pub(super) fn layers(
        self,
        growing: &GrowingSites<'_>,
        axis: &Axis,
        thresholds: Thresholds,
    ) -> Vec<(Layer, Trend)> {
        let mut layers: Vec<Layer> = self.sites.iter().map(|site| site.layer).collect();
        layers.sort_unstable();
        layers.dedup();
        let trend_of = |layer: Layer| {
            let changed = growing.layers.iter().find(|(changed, _)| *changed == layer);
            changed.map_or(Trend::FLAT, |(_, sum)| sum.trend(axis, thresholds))
        };
        layers.into_iter().map(|layer| (layer, trend_of(layer))).collect()
    }

    /// What each line of the ledgers does; nothing where none was taken.
    pub(super) fn lines_of_ledger(self, axis: &Axis, thresholds: Thresholds) -> Vec<(Space, Line, Trend)> {
        let thresholds = Thresholds { least_rise: self.least_to_stop(), ..thresholds }.of_ledgers();
        let trends = |space: Space, ledgers: &[Ledger]| -> Vec<(Space, Line, Trend)> {
            let lines = self.tables.lines_of(space.kind).filter(|_| !ledgers.is_empty());
            let of = |line| axis.some_ledgers(ledgers, self.process.start, |ledger| ledger.line(line));
            lines.map(|row| (space, row.line, trend(&of(row.line), thresholds))).collect()
        };
        let others = self.process.spaces.iter().flat_map(|one| trends(one.space, &one.ledgers));
        trends(Space::HOST, &self.process.ledgers).into_iter().chain(others).collect()
    }
}
