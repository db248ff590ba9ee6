//! Progress of a run, reported twice a second from readings that the watch makes anyway. It prints nothing and costs the program
//! nothing: the iterations of its loops are read from the arena.

use std::mem::offset_of;

use heaplens_format::arena::marks::{ENOUGH_ITERATIONS, LOOP_COUNTED, LOOP_SIZE, LoopRecord};
use heaplens_format::main_loop::{Turns, main_loop, of_all_threads};
use heaplens_format::recording::Sample;
use heaplens_format::{Bytes, Nanos};

use crate::arena::word;
use crate::thinning::drop_every_second;

/// The time between two reports.
pub(crate) const INTERVAL: Nanos = Nanos::new(500_000_000);
/// Points that are kept; when there are more, every second one is dropped.
const MOST_POINTS: usize = 64;
/// Growth over fewer iterations is not reported: it would be that of the warm-up.
const LEAST_ITERATIONS: u64 = 2 * ENOUGH_ITERATIONS;

/// The state of a process: the command's own, or where that is a shell the one with the most live memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Since the start of the run.
    pub elapsed: Nanos,
    /// Resident memory, Heaplens's own subtracted.
    pub rss: Bytes,
    /// Live heap bytes.
    pub live: Bytes,
    /// Iterations of the main loop so far; `None` where no loop made enough.
    pub iterations: Option<u64>,
    /// Bytes of resident memory per iteration over the later half of them; `None` where that is not known yet.
    pub growth: Option<f64>,
}

/// Receives progress.
pub type ProgressListener<'a> = &'a mut dyn FnMut(&Progress);

/// Resident memory over the iterations of the main loop, as a time series of bounded length.
#[derive(Debug, Default)]
pub(crate) struct GrowthSeries {
    /// The loop that the points are of.
    of_loop: usize,
    /// Iterations, and resident bytes then.
    points: Vec<(u64, Bytes)>,
    stride: u64,
    seen: u64,
}

impl GrowthSeries {
    /// The progress of a process, from its last reading and the records of its loops.
    pub(crate) fn progress(&mut self, now: Nanos, sample: Sample, loops: &[u8]) -> Progress {
        let main = main_of(loops);
        let growth = main.and_then(|main| self.growth(main, sample.rss));
        let iterations = main.map(|main| main.iterations);
        Progress { elapsed: now, rss: sample.rss, live: sample.live, iterations, growth }
    }

    /// Compares with the moment at which half of the iterations were done: what comes before is warm-up.
    fn growth(&mut self, Main { of_loop, iterations }: Main, rss: Bytes) -> Option<f64> {
        if self.of_loop != of_loop || self.points.last().is_some_and(|&(last, _)| iterations < last) {
            *self = Self { of_loop, ..Self::default() };
        }
        self.keep(iterations, rss);
        let half = self.points.partition_point(|&(earlier, _)| earlier <= iterations / 2).checked_sub(1)?;
        let (then, before) = self.points[half];
        (iterations - then >= LEAST_ITERATIONS)
            .then(|| (rss.get() as f64 - before.get() as f64) / (iterations - then) as f64)
    }

    fn keep(&mut self, iterations: u64, rss: Bytes) {
        if self.points.len() == MOST_POINTS {
            drop_every_second(&mut self.points);
            self.stride = 2 * self.stride.max(1);
        }
        if self.seen.is_multiple_of(self.stride.max(1)) {
            self.points.push((iterations, rss));
        }
        self.seen += 1;
    }
}

/// Iterations of the main loop.
pub(crate) fn iterations_of(loops: &[u8]) -> Option<u64> {
    main_of(loops).map(|main| main.iterations)
}

/// The main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Main {
    of_loop: usize,
    iterations: u64,
}

/// Finds the main loop. Record 0 stands for "none", and no number is trusted: records change while they are
/// read.
fn main_of(loops: &[u8]) -> Option<Main> {
    let loops: Vec<Turns> = (0..).zip(loops.chunks_exact(LOOP_SIZE).skip(1)).map(turns).collect();
    let loops = of_all_threads(&loops);
    let of_loop = main_loop(&loops)?;
    Some(Main { of_loop, iterations: loops[of_loop].iterations })
}

fn turns((index, record): (u64, &[u8])) -> Turns {
    let field = |at: usize| word(record, at);
    let parent_and_slot = field(offset_of!(LoopRecord, parent));
    let flags = (field(offset_of!(LoopRecord, last)) >> 32) as u32;
    let location = field(offset_of!(LoopRecord, location));
    Turns {
        around: (parent_and_slot as u32 as usize).checked_sub(1),
        thread: (parent_and_slot >> 32) as u32,
        iterations: field(offset_of!(LoopRecord, iterations)),
        first: field(offset_of!(LoopRecord, first_ns)),
        last: field(offset_of!(LoopRecord, last_ns)),
        is_counted: flags & LOOP_COUNTED != 0,
        // Names of code are read when the run is over.
        is_of_library: false,
        // A record that is being written has no location yet.
        identity: if location == 0 { u64::MAX - index } else { location },
        location,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::iterations_of as iterations;

    fn record(parent: u32, iterations: u64, ran: u64) -> Vec<u8> {
        record_of(1, parent, iterations, ran)
    }

    fn record_of(thread: u64, parent: u32, iterations: u64, ran: u64) -> Vec<u8> {
        let mut record = vec![0; LOOP_SIZE];
        let mut put = |at: usize, value: u64| record[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(offset_of!(LoopRecord, parent), thread << 32 | u64::from(parent));
        put(offset_of!(LoopRecord, iterations), iterations);
        put(offset_of!(LoopRecord, first_ns), 100);
        put(offset_of!(LoopRecord, last_ns), 100 + ran);
        record
    }

    fn sample(rss: u64) -> Sample {
        Sample { rss: Bytes::new(rss), live: Bytes::new(7), ..Sample::default() }
    }

    #[test]
    fn the_outermost_loop_with_enough_iterations_counts() {
        let loops = [record(0, 0, 0), record(0, 3, 900), record(1, 40, 800), record(2, 9000, 700)].concat();
        assert_eq!(iterations(&loops), Some(40));
        assert_eq!(iterations(&[record(0, 0, 0), record(0, 3, 9)].concat()), None);
        assert_eq!(iterations(&[]), None);
    }

    #[test]
    fn loops_around_each_other_and_records_out_of_nothing_end() {
        let loops = [record(0, 0, 0), record(2, 50, 1), record(1, 60, 1), record(77, 30, 1)].concat();
        assert_eq!(iterations(&loops), Some(30), "the others are inside each other");
    }

    #[test]
    fn the_main_threads_loop_counts_before_those_of_its_workers() {
        let with = |ran| [record(0, 0, 0), record_of(2, 0, 9000, 1000), record(0, 30, ran)].concat();
        assert_eq!(iterations(&with(900)), Some(30));
        assert_eq!(iterations(&with(400)), Some(9000));
    }

    #[test]
    fn another_main_loop_begins_anew() {
        let mut series = GrowthSeries::default();
        let one = [record(0, 0, 0), record(0, 100, 10)].concat();
        let other = [record(0, 0, 0), record(0, 100, 10), record(0, 900, 20)].concat();
        series.progress(Nanos::new(1), sample(0), &one);
        assert_eq!(series.progress(Nanos::new(2), sample(9_000_000), &other).growth, None);
    }

    #[test]
    fn growth_is_reported_over_the_later_half_of_the_iterations() {
        let mut series = GrowthSeries::default();
        let mut last = None;
        for step in 1..=1000u64 {
            let warm_up = if step < 20 { 0 } else { 5_000_000 };
            let loops = [record(0, 0, 0), record(0, 50 * step, step)].concat();
            last = series.progress(Nanos::new(step), sample(warm_up + 50 * step * 300), &loops).growth;
        }
        assert_eq!(last, Some(300.0));
        assert!(series.points.len() <= MOST_POINTS);
    }

    #[test]
    fn too_few_iterations_are_no_growth() {
        let loops = [record(0, 0, 0), record(0, 30, 1)].concat();
        let progress = GrowthSeries::default().progress(Nanos::new(5), sample(9), &loops);
        let elapsed = Nanos::new(5);
        let (rss, live) = (Bytes::new(9), Bytes::new(7));
        assert_eq!(progress, Progress { elapsed, rss, live, iterations: Some(30), growth: None });
    }
}
