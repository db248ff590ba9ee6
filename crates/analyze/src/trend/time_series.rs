//! The bytes and the blocks that something had at each moment of an axis.

use super::axis::Axis;
use super::series::{Point, Series};

/// What a site had at each moment of the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TimeSeries {
    bytes: Vec<f64>,
    blocks: Vec<f64>,
}

impl TimeSeries {
    /// From the bytes and the blocks of each moment.
    pub(crate) fn new(amounts: impl Iterator<Item = (f64, f64)>) -> Self {
        let (bytes, blocks) = amounts.unzip();
        Self { bytes, blocks }
    }

    /// Adds another, moment by moment.
    pub(crate) fn add(&mut self, other: &Self) {
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.resize(to.len().max(from.len()), 0.0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.bytes, &other.bytes);
        add(&mut self.blocks, &other.blocks);
    }

    /// The same blocks, with this part of their bytes.
    pub(crate) fn times(mut self, part: f64) -> Self {
        self.bytes.iter_mut().for_each(|bytes| *bytes *= part);
        self
    }

    /// Bytes that it has more at the last moment than at the first.
    pub(crate) fn changed(&self) -> f64 {
        changed(&self.bytes)
    }

    /// Whether it always has the same bytes.
    pub(crate) fn is_constant(&self) -> bool {
        self.bytes.iter().all(|bytes| Some(bytes) == self.bytes.first())
    }

    /// The same of blocks.
    pub(crate) fn changed_blocks(&self) -> f64 {
        changed(&self.blocks)
    }

    pub(crate) fn bytes(&self, axis: &Axis) -> Series {
        series(axis, &self.bytes)
    }

    pub(crate) fn blocks(&self, axis: &Axis) -> Series {
        series(axis, &self.blocks)
    }
}

fn changed(values: &[f64]) -> f64 {
    let change = |last: f64| last - values.first().copied().unwrap_or(0.0);
    values.last().copied().map_or(0.0, change)
}

fn series(axis: &Axis, values: &[f64]) -> Series {
    let points = axis.moments.iter().zip(values).map(|(moment, &y)| Point { x: moment.x, y });
    Series::new(points.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_nothing_changes_no_time_series() {
        let two = TimeSeries { bytes: vec![1.0, 2.0], blocks: vec![3.0, 4.0] };
        let mut sum = two.clone();
        sum.add(&TimeSeries::default());
        assert_eq!(sum, two);
        let mut begun = TimeSeries::default();
        begun.add(&two);
        begun.add(&two);
        assert_eq!(begun, TimeSeries { bytes: vec![2.0, 4.0], blocks: vec![6.0, 8.0] });
    }
}
