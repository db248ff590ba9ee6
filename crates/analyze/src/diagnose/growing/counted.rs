//! What libraries did over the iterations, by the line that made them do it.

use heaplens_format::recording::{Process, Stage};
use rustc_hash::FxHashMap;

use super::site_sum::line_key;
use crate::diagnose::counting::CountedLine;
use crate::diagnose::rule::Events;
use crate::profile::reclaim_test::last_mark;
use crate::profile::{LineKey, StackId, Stacks};
use crate::trend::{Axis, LEAST_POINTS, Point, Series, Shape, Thresholds, trend};

/// Events that a line must have had more at the end than at the beginning.
const LEAST_EVENTS: f64 = 6.0;

/// The part of a rise that a run of the collector takes back for it to have been garbage.
const COLLECTED: f64 = 0.5;

const OF_EVENTS: Thresholds = Thresholds {
    least_rise: LEAST_EVENTS,
    grain: 0.0,
    most_uneven: 0.2,
    least_rises: 4.0,
    least_points: LEAST_POINTS,
    counts_iterations: true,
};

/// Everything that was counted in a process.
#[derive(Debug, Default)]
pub(crate) struct Counted<'a> {
    lines: FxHashMap<(&'a str, Option<LineKey<'a>>), LineEvents>,
}

#[derive(Debug, Default)]
struct LineEvents {
    stack: StackId,
    /// At each moment of the axis.
    values: Vec<f64>,
    /// Before and after the last run of Python's collector that was a test; twice the end where there was none.
    tested: [f64; 2],
}

impl<'a> Counted<'a> {
    pub(crate) fn of(process: &'a Process, stacks: &'a Stacks, axis: &Axis) -> Self {
        let tests = [Stage::Before, Stage::Collected].map(|stage| last_mark(process, stage));
        let tests = if tests[0] < tests[1] { tests } else { [None; 2] };
        let mut counted = Self::default();
        for row in &process.counters.rows {
            let stack = stacks.of(row.node);
            let line = counted.lines.entry((&*row.counter, stacks.line(stack).map(line_key))).or_default();
            line.stack = stack;
            line.values.resize(axis.moments.len(), 0.0);
            for (value, moment) in line.values.iter_mut().zip(&axis.moments) {
                *value += row.at(moment.mark) as f64;
            }
            for (value, mark) in line.tested.iter_mut().zip(tests) {
                *value += mark.map_or(row.count, |mark| row.at(mark)) as f64;
            }
        }
        counted
    }

    /// Lines where this goes on with the iterations, those with most of it first.
    pub(crate) fn growing(&self, counter: &str, axis: &Axis) -> Vec<(Option<LineKey<'a>>, CountedLine)> {
        let of_counter = self.lines.iter().filter(|((known, _), _)| *known == counter);
        let mut growing: Vec<(Option<LineKey<'a>>, CountedLine)> = of_counter
            .filter_map(|((_, key), events)| {
                let per_iteration = pace(&events.values, axis)?;
                Some((*key, CountedLine { stack: events.stack, per_iteration }))
            })
            .collect();
        growing.sort_by(|(key, one), (other_key, other)| {
            other.per_iteration.total_cmp(&one.per_iteration).then(key.cmp(other_key))
        });
        growing
    }

    /// Events per iteration of all lines together, without those that others took back; `None` where they do not go on.
    pub(crate) fn pace(&self, wanted: &Events, axis: &Axis) -> Option<f64> {
        let (mut sum, mut tested) = (vec![0.0; axis.moments.len()], [0.0; 2]);
        for ((known, _), events) in &self.lines {
            let sign = match *known {
                known if known == wanted.counter => 1.0,
                known if Some(known) == wanted.undone_by => -1.0,
                _ => continue,
            };
            sum.iter_mut().zip(&events.values).for_each(|(sum, value)| *sum += sign * value);
            tested.iter_mut().zip(events.tested).for_each(|(sum, value)| *sum += sign * value);
        }
        let rise = sum.last().copied().unwrap_or(0.0) - sum.first().copied().unwrap_or(0.0);
        pace(&sum, axis).filter(|_| !wanted.may_be_garbage || tested[0] - tested[1] < COLLECTED * rise)
    }
}

/// `None` where it does not go on until the end.
fn pace(values: &[f64], axis: &Axis) -> Option<f64> {
    let points = axis.moments.iter().zip(values).map(|(moment, &y)| Point { x: moment.x, y });
    let found = trend(&Series::new(points.collect()), OF_EVENTS);
    (found.shape == Shape::Linear).then_some(found.slope.value)
}
