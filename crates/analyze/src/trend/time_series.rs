//! The bytes and the blocks that something had at each moment of an axis.

use super::axis::Axis;
use super::series::{Point, Series};

/// How much larger the table is that replaces one that is full, at least.
const LARGER: f64 = 1.4;

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

    /// It without another that is a part of it.
    pub(crate) fn without(&self, part: &Self) -> Self {
        let less = |of: &[f64], part: &[f64]| {
            let part = part.iter().chain(std::iter::repeat(&0.0));
            of.iter().zip(part).map(|(of, part)| of - part).collect()
        };
        Self { bytes: less(&self.bytes, &part.bytes), blocks: less(&self.blocks, &part.blocks) }
    }

    /// Whether it is one block at a time, which a larger one replaces now and then: a table that doubles.
    pub(crate) fn is_table(&self) -> bool {
        let is_replaced = |pair: &[f64]| pair[0] <= 0.0 || pair[1] <= pair[0] || pair[1] >= LARGER * pair[0];
        let is_one = |&blocks: &f64| blocks == 0.0 || blocks == 1.0;
        let rises = self.bytes.windows(2).filter(|pair| pair[0] > 0.0 && pair[1] > pair[0]).count();
        rises > 0 && self.blocks.iter().all(is_one) && self.bytes.windows(2).all(is_replaced)
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
    fn a_table_is_one_block_that_larger_ones_replace() {
        let of = |bytes: &[f64], blocks: &[f64]| TimeSeries { bytes: bytes.into(), blocks: blocks.into() };
        let one = [1.0; 5];
        assert!(of(&[100.0, 100.0, 200.0, 200.0, 400.0], &one).is_table());
        assert!(of(&[0.0, 100.0, 100.0, 200.0, 200.0], &[0.0, 1.0, 1.0, 1.0, 1.0]).is_table());
        assert!(!of(&[100.0, 110.0, 120.0, 130.0, 140.0], &one).is_table(), "it grows bit by bit");
        assert!(!of(&[100.0, 200.0, 400.0, 800.0, 800.0], &[1.0, 2.0, 4.0, 8.0, 8.0]).is_table());
        assert!(!of(&[100.0; 5], &one).is_table());
    }

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
