//! Sites taken together, as those of one line, of one layer or of one cause.

use crate::profile::{LineKey, StackFrame};
use crate::trend::{Axis, Shape, Slope, Thresholds, TimeSeries, Trend, trend};

/// A table that doubles has been larger and smaller beside its elements than it is at the end: from so much of its part of the growth to so much.
const OF_TABLES: [f64; 2] = [0.7, 1.5];

/// What is known of all sites together that one line is named for, or that one layer has.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteSum {
    pub(crate) values: TimeSeries,
    /// Of these the tables of containers, each one block that a larger one replaces now and then.
    tables: TimeSeries,
    /// Their indices in the profile.
    pub(crate) sites: Vec<usize>,
    /// Rises, each times the bytes that a sample of it stands for.
    weighted: f64,
    rises: f64,
    /// The site that rose most, and by how much.
    most: Option<(usize, f64)>,
}

impl SiteSum {
    pub(crate) fn add(&mut self, site: usize, values: &TimeSeries, grain: f64) {
        let rise = values.changed();
        self.values.add(values);
        if values.is_table() {
            self.tables.add(values);
        }
        self.sites.push(site);
        self.weighted += grain * rise.max(0.0);
        self.rises += rise.max(0.0);
        if self.most.is_none_or(|(_, most)| rise > most) {
            self.most = Some((site, rise));
        }
    }

    /// The representative site: the one that rose most.
    pub(crate) fn representative(&self) -> Option<usize> {
        self.most.map(|(site, _)| site)
    }

    /// Bytes that one sample stands for, on average over the rise.
    pub(crate) fn grain(&self) -> f64 {
        if self.rises > 0.0 { self.weighted / self.rises } else { 0.0 }
    }

    /// A robust slope leaves single steps out. Those of a table are no accidents: where its elements grow evenly, it grows with them.
    pub(crate) fn trend(&self, axis: &Axis, thresholds: Thresholds) -> Trend {
        let thresholds = Thresholds { grain: self.grain(), ..thresholds };
        let series = self.values.bytes(axis);
        let whole = trend(&series, thresholds);
        if self.tables.changed() <= 0.0 {
            return whole;
        }
        let elements = trend(&self.values.without(&self.tables).bytes(axis), thresholds);
        match elements.shape {
            Shape::Linear => {
                let (Slope { value, low, high }, table) =
                    (elements.slope, self.tables.changed() / series.length());
                let [least, most] = OF_TABLES.map(|part| part * table);
                let slope = Slope { value: value + table, low: low + least, high: high + most };
                Trend { shape: Shape::Linear, slope, ..whole }
            }
            _ => whole,
        }
    }
}

/// The line of a frame: one without a function is distinguished by its address.
pub(crate) fn line_key(frame: &StackFrame) -> LineKey<'_> {
    frame.line_key(if frame.function.is_some() { 0 } else { frame.offset })
}
