//! How a run goes, while it goes: what the watcher has at hand anyway, told about twice a second. It prints nothing and asks
//! the program nothing: the passes of loops are in the arena, one read away.

use std::mem::offset_of;

use heaplens_format::arena::marks::{ENOUGH_PASSES, LOOP_SIZE, Loop as LoopRecord};
use heaplens_format::recording::Sample;
use heaplens_format::{Bytes, Nanos};

use crate::arena::word;

/// The distance of two tellings.
pub(crate) const INTERVAL: Nanos = Nanos::new(500_000_000);
/// Points that are kept; when they are full every second one goes.
const MOST_POINTS: usize = 64;
/// Growth over fewer passes is not told: it would be the price of the first ones.
const LEAST_PASSES: u64 = 2 * ENOUGH_PASSES;

/// How the command's own process stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the start of the run.
    pub elapsed: Nanos,
    /// Resident memory, Heaplens's own subtracted.
    pub rss: Bytes,
    /// Live heap bytes.
    pub live: Bytes,
    /// Passes of the main loop so far; `None` where no loop made enough.
    pub iterations: Option<u64>,
    /// Bytes of resident memory per iteration over the later half of them; `None` where that is not known yet.
    pub growth: Option<f64>,
}

/// Who is told.
pub type Audience<'a> = &'a mut dyn FnMut(&Progress);

/// What is remembered of a run to tell how it goes.
#[derive(Debug, Default)]
pub(crate) struct Course {
    points: Vec<(u64, Bytes)>,
    stride: u64,
    seen: u64,
}

impl Course {
    /// How the process stands now, by its last reading and the records of its loops.
    pub(crate) fn progress(&mut self, now: Nanos, sample: Sample, loops: &[u8]) -> Progress {
        let iterations = passes(loops);
        let growth = iterations.and_then(|passes| self.growth(passes, sample.rss));
        Progress { elapsed: now, rss: sample.rss, live: sample.live, iterations, growth }
    }

    /// Compares with the moment at which half of the passes were made: what comes before is warm-up.
    fn growth(&mut self, passes: u64, rss: Bytes) -> Option<f64> {
        if self.points.last().is_some_and(|&(last, _)| passes < last) {
            // Another loop is the main one now.
            *self = Self::default();
        }
        self.keep(passes, rss);
        let half = self.points.partition_point(|&(earlier, _)| earlier <= passes / 2).checked_sub(1)?;
        let (then, before) = self.points[half];
        (passes - then >= LEAST_PASSES)
            .then(|| (rss.get() as f64 - before.get() as f64) / (passes - then) as f64)
    }

    fn keep(&mut self, passes: u64, rss: Bytes) {
        if self.points.len() == MOST_POINTS {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride = 2 * self.stride.max(1);
        }
        if self.seen.is_multiple_of(self.stride.max(1)) {
            self.points.push((passes, rss));
        }
        self.seen += 1;
    }
}

/// The passes of the outermost loop with enough of them that runs for longest, as the report counts iterations. No number is
/// trusted: the records change while they are read.
fn passes(loops: &[u8]) -> Option<u64> {
    let records: Vec<&[u8]> = loops.chunks_exact(LOOP_SIZE).collect();
    let passes = |record: &[u8]| word(record, offset_of!(LoopRecord, passes));
    let around = |record: &[u8]| records.get(word(record, offset_of!(LoopRecord, parent)) as u32 as usize);
    let is_enough = |record: &[u8]| passes(record) >= ENOUGH_PASSES;
    // Record 0 stands for "none"; in a recursion loops may be around each other.
    let is_inside = |record: &[u8]| {
        let outer = std::iter::successors(around(record), |&&record| around(record));
        outer.take(records.len()).any(|&record| is_enough(record))
    };
    let ran = |record: &[u8]| {
        let moment = |at| word(record, at);
        moment(offset_of!(LoopRecord, last_ns)).saturating_sub(moment(offset_of!(LoopRecord, first_ns)))
    };
    let outermost = records.iter().skip(1).filter(|&&record| is_enough(record) && !is_inside(record));
    outermost.max_by_key(|&&record| (ran(record), passes(record))).map(|&record| passes(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(parent: u32, passes: u64, ran: u64) -> Vec<u8> {
        let mut record = vec![0; LOOP_SIZE];
        let mut put = |at: usize, value: u64| record[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(offset_of!(LoopRecord, parent), u64::from(parent));
        put(offset_of!(LoopRecord, passes), passes);
        put(offset_of!(LoopRecord, first_ns), 100);
        put(offset_of!(LoopRecord, last_ns), 100 + ran);
        record
    }

    fn sample(rss: u64) -> Sample {
        Sample { at: Nanos::new(0), rss: Bytes::new(rss), live: Bytes::new(7) }
    }

    #[test]
    fn the_outermost_loop_with_enough_passes_counts() {
        let loops = [record(0, 0, 0), record(0, 3, 900), record(1, 40, 800), record(2, 9000, 700)].concat();
        assert_eq!(passes(&loops), Some(40));
        assert_eq!(passes(&[record(0, 0, 0), record(0, 3, 9)].concat()), None);
        assert_eq!(passes(&[]), None);
    }

    #[test]
    fn loops_around_each_other_and_records_out_of_nothing_end() {
        let loops = [record(0, 0, 0), record(2, 50, 1), record(1, 60, 1), record(77, 30, 1)].concat();
        assert_eq!(passes(&loops), Some(30), "the others are inside each other");
    }

    #[test]
    fn growth_is_told_over_the_later_half_of_the_passes() {
        let mut course = Course::default();
        let mut last = None;
        for step in 1..=1000u64 {
            let warm_up = if step < 20 { 0 } else { 5_000_000 };
            let loops = [record(0, 0, 0), record(0, 50 * step, step)].concat();
            last = course.progress(Nanos::new(step), sample(warm_up + 50 * step * 300), &loops).growth;
        }
        assert_eq!(last, Some(300.0));
        assert!(course.points.len() <= MOST_POINTS);
    }

    #[test]
    fn too_few_passes_are_no_growth() {
        let loops = [record(0, 0, 0), record(0, 30, 1)].concat();
        let progress = Course::default().progress(Nanos::new(5), sample(9), &loops);
        let elapsed = Nanos::new(5);
        let (rss, live) = (Bytes::new(9), Bytes::new(7));
        assert_eq!(progress, Progress { elapsed, rss, live, iterations: Some(30), growth: None });
    }
}
