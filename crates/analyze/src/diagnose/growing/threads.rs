//! Threads that are started and never end, or that end and are never joined. What they cost is their stacks, which the C
//! library maps where no hook sees it: their number comes from the block that it allocates for each of them, else from the
//! time-line, and what one costs from the ledgers.

use heaplens_format::recording::{Ledger, Line, Process};

use crate::diagnose::counting::ThreadGrowth;
use crate::trend::{Axis, Point, Series, Shape, Thresholds, Trend, trend};

/// Fewer threads than this are a pool.
const LEAST: f64 = 8.0;
/// The part of a run in which its threads may end because it does.
const ENDING: f64 = 0.1;
/// Threads that run are fewer than this part of the stacks: the others have ended.
const RUNNING: f64 = 0.5;

/// What is known of the threads of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadCounts<'a> {
    pub(crate) process: &'a Process,
    pub(crate) axis: &'a Axis,
    pub(crate) thresholds: Thresholds,
}

impl ThreadCounts<'_> {
    /// Threads that run, by the time-line. When the program ends they do, too: what follows the most of them is left out where
    /// that is the end.
    pub(crate) fn running(self) -> Series {
        let all = &self.process.timeline;
        let most = all.iter().map(|sample| sample.threads).max();
        let most = all.iter().rposition(|sample| Some(sample.threads) == most);
        let end = most.map_or(0, |most| most + 1);
        let (grown, ending) = all.split_at(end);
        let is_end = ending.len() as f64 <= ENDING * all.len() as f64 + 1.0;
        self.axis.readings(if is_end { grown } else { all }, self.process.start, |one| one.threads.into())
    }

    /// Whether a number of threads, or of their stacks, grows and does not stop.
    pub(crate) fn growing(self, counts: &Series) -> Option<Trend> {
        let thresholds = Thresholds { least_rise: LEAST, grain: 0.0, ..self.thresholds };
        Some(trend(counts, thresholds)).filter(|trend| trend.shape == Shape::Linear)
    }

    /// Resident bytes of one stack: by how much the ledger's line of stacks differs between those with the fewest and the
    /// most of it, for each thread that came in between. 0 where that is not known.
    pub(crate) fn bytes_of_one(self, counts: &Series) -> f64 {
        let stacks = |ledger: &&Ledger| ledger.line(Line::THREAD_STACKS);
        let (few, many) =
            (self.process.ledgers.iter().min_by_key(stacks), self.process.ledgers.iter().max_by_key(stacks));
        let Some((few, many)) = few.zip(many) else { return 0.0 };
        let count =
            |ledger: &Ledger| value_at(counts.points(), self.axis.x_near(ledger.at, self.process.start));
        let bytes = stacks(&many).saturating_sub(stacks(&few)).get() as f64;
        let threads = count(many) - count(few);
        if threads >= 1.0 { bytes / threads } else { 0.0 }
    }

    /// Threads by the memory of their stacks, where so many stacks are left at the end and where ledgers say that they grew.
    pub(crate) fn by_ledgers(self, left: u64) -> Option<(Trend, f64)> {
        let stacks = self.axis.ledgers(self.process, |ledger| ledger.line(Line::THREAD_STACKS));
        let one = stacks.last() / left as f64;
        let thresholds = Thresholds { least_rise: LEAST * one, ..self.thresholds.of_ledgers() };
        let found = Some(trend(&stacks, thresholds)).filter(|trend| trend.shape == Shape::Linear)?;
        (left as f64 >= LEAST).then(|| (found.times(1.0 / one), one))
    }

    /// What is reported of threads whose number grows so.
    pub(crate) fn growth(self, counts: &Trend) -> ThreadGrowth {
        let most = self.process.timeline.iter().map(|sample| sample.threads).max().unwrap_or_default();
        let have_ended = most > 0 && f64::from(most) < RUNNING * counts.level;
        ThreadGrowth { per_iteration: counts.slope.value, count: counts.level.max(0.0) as u64, have_ended }
    }
}

/// The value of a series between its points, and that of the nearest outside of them.
fn value_at(points: &[Point], x: f64) -> f64 {
    let next = points.partition_point(|point| point.x <= x);
    match (next.checked_sub(1).map(|at| points[at]), points.get(next)) {
        (Some(before), Some(after)) => {
            before.y + (x - before.x) / (after.x - before.x) * (after.y - before.y)
        }
        (Some(near), None) => near.y,
        (None, Some(near)) => near.y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_between_its_neighbours_and_is_that_of_the_nearest_outside() {
        let points = [Point { x: 1.0, y: 10.0 }, Point { x: 3.0, y: 30.0 }];
        assert_eq!([0.0, 1.0, 2.0, 3.0, 9.0].map(|x| value_at(&points, x)), [10.0, 10.0, 20.0, 30.0, 30.0]);
        assert_eq!(value_at(&[], 1.0), 0.0);
    }
}
