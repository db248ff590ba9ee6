//! The time-line of one process: readings over any length of time in bounded space. It reads nothing by itself.
//!
//! Of `n` readings those whose index is a multiple of `stride` are kept. When the list is full the stride
//! doubles and every second one is dropped. Apart from them the last reading and the one with the most resident memory are kept,
//! and the first one has index 0: the three that a report prints are never lost.

use heaplens_format::recording::Sample;

use crate::thinning::drop_every_second;

/// The most readings of a time line.
pub(crate) const LIMIT: usize = 1024;

/// Capacity for the regular readings: the peak and the last one are added to them.
const REGULAR: usize = LIMIT - 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Timeline {
    regular: Vec<Sample>,
    stride: u64,
    seen: u64,
    peak: Option<Sample>,
    last: Option<Sample>,
}

impl Timeline {
    /// Without a reading.
    pub(crate) fn new() -> Self {
        Self { regular: Vec::new(), stride: 1, seen: 0, peak: None, last: None }
    }

    /// Adds a reading; `at` never goes back.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.seen.is_multiple_of(self.stride) {
            self.push_regular(sample);
        }
        self.seen += 1;
        self.last = Some(sample);
        if self.peak.is_none_or(|peak| sample.rss > peak.rss) {
            self.peak = Some(sample);
        }
    }

    /// The reading with the most resident memory, the earliest of them.
    pub(crate) fn peak(&self) -> Option<Sample> {
        self.peak
    }

    /// The first reading.
    pub(crate) fn first(&self) -> Option<Sample> {
        self.regular.first().copied()
    }

    /// The last reading.
    pub(crate) fn last(&self) -> Option<Sample> {
        self.last
    }

    /// The readings that were kept, in the order of time.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let mut samples = self.regular.clone();
        samples.extend(self.peak);
        samples.extend(self.last);
        samples.sort_by_key(|sample| sample.at);
        samples.dedup();
        samples
    }

    fn push_regular(&mut self, sample: Sample) {
        if self.regular.len() == REGULAR {
            self.thin();
            if !self.seen.is_multiple_of(self.stride) {
                return;
            }
        }
        self.regular.push(sample);
    }

    fn thin(&mut self) {
        drop_every_second(&mut self.regular);
        self.stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::{Bytes, Nanos};
    use proptest::prelude::*;

    use super::*;

    /// Keeps everything, and thins once at the end.
    fn naive(all: &[Sample]) -> Vec<Sample> {
        let mut stride = 1;
        while all.len().div_ceil(stride) > REGULAR {
            stride *= 2;
        }
        let peak = all.iter().rev().max_by_key(|sample| sample.rss);
        let mut kept: Vec<Sample> =
            all.iter().step_by(stride).chain(peak).chain(all.last()).copied().collect();
        kept.sort_by_key(|sample| sample.at);
        kept.dedup();
        kept
    }

    fn samples_of(rss: &[u64]) -> Vec<Sample> {
        let at = (0u64..).map(|tick| Nanos::new(tick * 20_000_000));
        let sample = |(at, &rss)| Sample { at, rss: Bytes::new(rss), ..Sample::default() };
        at.zip(rss).map(sample).collect()
    }

    fn timeline_of(samples: &[Sample]) -> Timeline {
        let mut timeline = Timeline::new();
        samples.iter().for_each(|&sample| timeline.push(sample));
        timeline
    }

    #[test]
    fn a_day_of_readings_stays_within_the_limit() {
        let rss: Vec<u64> = (0..4_320_000).map(|tick| tick % 977).collect();
        let samples = timeline_of(&samples_of(&rss)).samples();
        assert!(samples.len() <= LIMIT && samples.len() > LIMIT / 2 - 2, "{} samples", samples.len());
    }

    #[test]
    fn nothing_is_dropped_while_there_is_room() {
        let all = samples_of(&vec![5; REGULAR]);
        assert_eq!(timeline_of(&all).samples(), all);
    }

    proptest! {
        #[test]
        fn the_time_line_keeps_what_a_naive_model_keeps(rss in prop::collection::vec(0u64..50, 0..5000)) {
            let all = samples_of(&rss);
            prop_assert_eq!(timeline_of(&all).samples(), naive(&all));
        }

        #[test]
        fn first_last_and_peak_are_never_lost(rss in prop::collection::vec(any::<u64>(), 1..5000)) {
            let all = samples_of(&rss);
            let timeline = timeline_of(&all);
            let samples = timeline.samples();
            prop_assert!(samples.len() <= LIMIT);
            prop_assert_eq!(samples.first(), all.first());
            prop_assert_eq!(samples.last(), all.last());
            let most = |samples: &[Sample]| samples.iter().map(|sample| sample.rss).max();
            prop_assert_eq!(most(&samples), most(&all));
        }
    }
}
