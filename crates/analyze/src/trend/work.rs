//! How far a program had come at a moment, by the CPU time that it had used until then. On a busy machine a program runs at another pace in
//! each second, and growth that is the same in every iteration looks as if it slowed down or came in steps. Over its own work it does not.

use heaplens_format::Nanos;
use heaplens_format::recording::{Process, Sample};

/// Fewer readings say too little about the pace of a program.
const LEAST_READINGS: usize = 16;
/// A program that uses less than this part of one CPU waits for something else than the machine.
const LEAST_LOAD: f64 = 0.05;

/// The readings of a process as (moment, seconds of work); the last of these are as many as seconds went by, so that a slope over work is
/// one over time, too.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WorkClock {
    readings: Vec<(Nanos, f64)>,
    /// CPU seconds in a second of work.
    load: f64,
    /// The most work in a second: of one CPU, or of as many as the program used at some time.
    fastest: f64,
}

impl WorkClock {
    /// `None` where CPU time was not read, or where the program hardly used any.
    pub(crate) fn of(process: &Process) -> Option<Self> {
        let timeline = &process.timeline;
        let (first, last) = (timeline.first()?, timeline.last()?);
        let seconds = (last.at.get().checked_sub(first.at.get())?) as f64;
        let used = (last.cpu.get().checked_sub(first.cpu.get())?) as f64;
        let is_known = timeline.len() >= LEAST_READINGS && used >= LEAST_LOAD * seconds && used > 0.0;
        let begun = first.at.get().saturating_sub(process.start.get()) as f64;
        let work = |sample: &Sample| sample.cpu.get().saturating_sub(first.cpu.get()) as f64 * seconds / used;
        let reading = |sample: &Sample| (sample.at, (begun + work(sample)) / 1e9);
        is_known.then(|| {
            let (readings, load): (Vec<_>, f64) = (timeline.iter().map(reading).collect(), used / seconds);
            Self { fastest: fastest(&readings).max(1.0 / load), readings, load }
        })
    }

    /// CPU seconds that were used between two moments.
    pub(crate) fn cpu_between(&self, from: Nanos, to: Nanos) -> f64 {
        (self.at(to) - self.at(from)) * self.load
    }

    /// The least and the most that these can have been: how the program's time was spread between two readings is not known.
    pub(crate) fn cpu_bounds(&self, from: Nanos, to: Nanos) -> [f64; 2] {
        let ([least_from, most_from], [least_to, most_to]) = (self.bounds(from), self.bounds(to));
        [(least_to - most_from).max(0.0), most_to - least_from].map(|seconds| seconds * self.load)
    }

    /// Of the work until a moment.
    fn bounds(&self, moment: Nanos) -> [f64; 2] {
        let next = self.readings.partition_point(|(at, _)| *at <= moment);
        let most = |from: Nanos, to: Nanos| self.fastest * seconds_between(from, to);
        match (next.checked_sub(1).map(|at| self.readings[at]), self.readings.get(next)) {
            (Some((before, work)), Some(&(after, later))) => {
                [work.max(later - most(moment, after)), later.min(work + most(before, moment))]
            }
            _ => [self.at(moment); 2],
        }
    }

    /// Seconds of work until a moment; what lies outside of the readings goes on as time does.
    pub(crate) fn at(&self, moment: Nanos) -> f64 {
        let next = self.readings.partition_point(|(at, _)| *at <= moment);
        match (next.checked_sub(1).map(|at| self.readings[at]), self.readings.get(next)) {
            (Some((before, work)), Some(&(after, later))) => {
                work + (later - work) * seconds_between(before, moment) / seconds_between(before, after)
            }
            (Some((last, work)), None) => work + seconds_between(last, moment),
            (None, Some(&(first, work))) => work - seconds_between(moment, first),
            (None, None) => 0.0,
        }
    }
}

/// The most work in a second, from one reading to the next.
fn fastest(readings: &[(Nanos, f64)]) -> f64 {
    let pace = |pair: &[(Nanos, f64)]| (pair[1].1 - pair[0].1) / seconds_between(pair[0].0, pair[1].0);
    readings.windows(2).map(pace).filter(|pace| pace.is_finite()).fold(0.0, f64::max)
}

fn seconds_between(from: Nanos, to: Nanos) -> f64 {
    (to.get() as f64 - from.get() as f64) / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Readings of every second, with the CPU seconds used until then.
    fn process(used: impl Fn(u64) -> f64, seconds: u64) -> Process {
        let sample = |at: u64| Sample {
            at: Nanos::new((at + 5) * SECOND),
            cpu: Nanos::new((used(at) * 1e9) as u64),
            ..Sample::default()
        };
        let timeline = (0..=seconds).map(sample).collect();
        Process { start: Nanos::new(5 * SECOND), timeline, ..Process::default() }
    }

    #[test]
    fn a_program_that_has_half_of_the_machine_for_a_while_is_slower_then() {
        // The first ten seconds it has all of a CPU, the others half of one: 15 of them in 20 seconds.
        let clock =
            WorkClock::of(&process(|at| at.min(10) as f64 + 0.5 * at.saturating_sub(10) as f64, 20)).unwrap();
        let at = |seconds: f64| clock.at(Nanos::new(((seconds + 5.0) * 1e9) as u64));
        let known = [at(0.0), at(10.0), at(15.0), at(20.0), at(22.0)];
        let truth = [0.0, 40.0 / 3.0, 50.0 / 3.0, 20.0, 22.0];
        assert!(known.iter().zip(truth).all(|(known, truth)| (known - truth).abs() < 1e-6), "{known:?}");
        let used = clock.cpu_between(Nanos::new(10 * SECOND), Nanos::new(20 * SECOND));
        assert!((used - 7.5).abs() < 1e-6, "five seconds of a whole CPU and five of a half: {used}");
    }

    #[test]
    fn between_readings_the_work_may_have_been_done_at_any_moment() {
        let clock = WorkClock::of(&process(|at| 0.25 * at as f64, 20)).unwrap();
        let at = |seconds: f64| Nanos::new(((seconds + 5.0) * 1e9) as u64);
        let bounds = |from: f64, to: f64| {
            clock.cpu_bounds(at(from), at(to)).map(|seconds| (seconds * 1e6).round() / 1e6)
        };
        assert_eq!((bounds(2.0, 7.0), bounds(2.5, 7.0)), ([1.25, 1.25], [1.0, 1.25]));
        assert_eq!((bounds(2.5, 7.5), bounds(2.2, 2.4)), ([1.0, 1.5], [0.0, 0.25]));
        assert_eq!(bounds(2.9, 7.0), [1.0, 1.1], "no more than a tenth of a second of one CPU");
        let busy = WorkClock::of(&process(|at| at as f64, 20)).unwrap();
        assert!((busy.cpu_bounds(at(2.5), at(7.1))[0] - 4.6).abs() < 1e-6, "it always ran");
    }

    #[test]
    fn nothing_is_known_of_a_program_that_waits_or_whose_time_was_not_read() {
        assert_eq!(WorkClock::of(&process(|_| 0.0, 20)), None, "not read");
        assert_eq!(WorkClock::of(&process(|at| 0.01 * at as f64, 20)), None, "it waits");
        assert_eq!(WorkClock::of(&process(|at| at as f64, 5)), None, "too few readings");
        assert_eq!(WorkClock::of(&Process::default()), None);
    }
}
