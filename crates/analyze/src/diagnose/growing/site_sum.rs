//! Sites taken together, as those of one line, of one layer or of one cause.

use crate::profile::{LineKey, StackFrame};
use crate::trend::{Axis, Shape, Slope, Thresholds, TimeSeries, Trend, trend};

/// Bytes of a table for each block that its elements are made of, at most: a buffer that was replaced by a larger one is no table of theirs.
const MOST_OF_TABLE: f64 = 256.0;
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
        let elements = self.values.without(&self.tables);
        let grown = self.tables.changed();
        if grown <= 0.0 || grown > MOST_OF_TABLE * elements.changed_blocks() {
            return whole;
        }
        let elements = trend(&elements.bytes(axis), thresholds);
        match elements.shape {
            Shape::Linear => {
                let (Slope { value, low, high }, table) = (elements.slope, grown / series.length());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The slope of a line with blocks of 100 bytes, ten in each iteration, and a table of so many bytes at first that doubles twice.
    fn slope(table: f64) -> f64 {
        let axis = Axis::of_marks(200);
        let times = |number: u64| {
            if number < 60 {
                1.0
            } else if number < 120 {
                2.0
            } else {
                4.0
            }
        };
        let mut sum = SiteSum::default();
        sum.add(
            0,
            &TimeSeries::new((0..200).map(|number| (1000.0 * number as f64, 10.0 * number as f64))),
            0.0,
        );
        sum.add(1, &TimeSeries::new((0..200).map(|number| (table * times(number), 1.0))), 0.0);
        sum.trend(&axis, Thresholds::OF_ITERATIONS).slope.value
    }

    #[test]
    fn a_table_that_doubles_counts_with_its_average_growth() {
        let table = 30_000.0;
        assert!((slope(table) - (1000.0 + 3.0 * table / 199.0)).abs() < 1.0, "{}", slope(table));
    }

    #[test]
    fn a_buffer_that_is_too_large_for_these_elements_is_no_table_of_theirs() {
        assert!(slope(3e6) < 3e6 / 199.0, "{}", slope(3e6));
    }
}
