//! Iterations that need ever more CPU time: evidence that something is searched, copied or walked that grows. Work that
//! differs from one iteration to the next shows as much, so it is never a finding by itself.

use super::axis::{Axis, AxisMark};
use super::slope::median;
use super::work::WorkClock;

/// Fewer distances between marks say nothing.
const LEAST_DISTANCES: usize = 24;
/// So much of the run is warm-up.
const WARM_UP: f64 = 0.1;
/// How much slower the last part of the run must be than the first: what else runs on the same core cannot do as much.
const LEAST_RATIO: f64 = 2.0;
/// Parts that are compared, and how much slower each must be than the one before it: a machine that becomes busy makes one step.
const PARTS: usize = 4;
const LEAST_STEP: f64 = 1.1;

/// How much CPU time iterations needed, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowing {
    /// In the first part of the run, after its warm-up.
    pub first: f64,
    /// In the last part.
    pub last: f64,
}

/// Whether iterations become slower; `None` where they do not, or where that is not known.
pub(crate) fn slowing(axis: &Axis, clock: Option<&WorkClock>) -> Option<Slowing> {
    let clock = clock?;
    let distances: Vec<f64> =
        axis.moments.windows(2).filter_map(|pair| seconds(clock, &pair[0], &pair[1])).collect();
    let warm = &distances[(distances.len() as f64 * WARM_UP) as usize..];
    if warm.len() < LEAST_DISTANCES {
        return None;
    }
    let part = |part: usize| &warm[part * warm.len() / PARTS..(part + 1) * warm.len() / PARTS];
    let medians: [f64; PARTS] = std::array::from_fn(|at| median(&mut part(at).to_vec()));
    let (first, last) = (medians[0], medians[PARTS - 1]);
    let ever_slower = medians.windows(2).all(|pair| pair[1] >= LEAST_STEP * pair[0]);
    let is_slowing = ever_slower && first > 0.0 && last >= LEAST_RATIO * first;
    if is_slowing { surely_slowing(axis, clock) } else { None }
}

/// What parts of as many iterations each needed; `None` where one may not have been slower than the one before: where
/// readings are far apart, as on a busy machine, it is not known when between two of them the program ran.
fn surely_slowing(axis: &Axis, clock: &WorkClock) -> Option<Slowing> {
    let (first, last) = (axis.moments.first()?, axis.moments.last()?);
    let begin = first.x + WARM_UP * (last.x - first.x);
    let end = |part: usize| {
        let x = begin + (last.x - begin) * part as f64 / PARTS as f64;
        &axis.moments[axis.moments.partition_point(|moment| moment.x < x).min(axis.moments.len() - 1)]
    };
    let bounds = |part: usize| {
        let (begins, ends) = (end(part), end(part + 1));
        clock.cpu_bounds(begins.at, ends.at).map(|seconds| seconds / (ends.x - begins.x))
    };
    let parts: [[f64; 2]; PARTS] = std::array::from_fn(bounds);
    let ever_slower = parts.windows(2).all(|pair| pair[1][0] >= LEAST_STEP * pair[0][1]);
    let is_sure = ever_slower && parts[PARTS - 1][0] >= LEAST_RATIO * parts[0][1];
    let needed = |part: usize| seconds(clock, end(part), end(part + 1));
    Some(Slowing { first: needed(0)?, last: needed(PARTS - 1)? }).filter(|_| is_sure)
}

/// The CPU time that one iteration needed between two marks.
fn seconds(clock: &WorkClock, from: &AxisMark, to: &AxisMark) -> Option<f64> {
    (to.x > from.x).then(|| clock.cpu_between(from.at, to.at) / (to.x - from.x))
}

#[cfg(test)]
mod tests {
    use super::super::axis::How;
    use super::*;
    use heaplens_format::Nanos;
    use heaplens_format::recording::{Process, Sample};

    /// Of iterations that need so many microseconds of CPU time and take so many each.
    fn of_both(iteration: impl Fn(u64) -> [u64; 2]) -> Option<Slowing> {
        let (mut cpu, mut at) = (0, 0);
        let (mut moments, mut timeline) = (Vec::new(), Vec::new());
        for number in 0..200 {
            let [needed, took] = iteration(number);
            (cpu, at) = (cpu + needed, at + took);
            moments.push(AxisMark { mark: number as usize, x: number as f64, at: Nanos::new(1000 * at) });
            timeline.push(Sample {
                at: Nanos::new(1000 * at),
                cpu: Nanos::new(1000 * cpu),
                ..Sample::default()
            });
        }
        let process = Process { timeline, ..Process::default() };
        let axis = Axis { how: How::Loop, count: 200, moments, ..Axis::default() };
        slowing(&axis, WorkClock::of(&process).as_ref())
    }

    fn of(micros: impl Fn(u64) -> u64) -> Option<Slowing> {
        of_both(|iteration| [micros(iteration); 2])
    }

    #[test]
    fn iterations_that_need_ever_more_are_reported_with_both_times() {
        let found = of(|iteration| 1000 + 20 * iteration).unwrap();
        assert!((found.first - 0.0018).abs() < 0.0002 && (found.last - 0.0045).abs() < 0.0003, "{found:?}");
    }

    #[test]
    fn iterations_that_only_differ_are_not() {
        assert_eq!(of(|_| 1000), None);
        assert_eq!(of(|iteration| if iteration % 10 == 9 { 90_000 } else { 1000 }), None);
        assert_eq!(of(|iteration| if (100..150).contains(&iteration) { 9000 } else { 1000 }), None);
        assert_eq!(of(|iteration| 5000 - 20 * iteration), None);
    }

    #[test]
    fn a_machine_that_becomes_busy_slows_nothing_down() {
        assert_eq!(of_both(|iteration| [1000, 1000 + 40 * iteration]), None, "ever less of a CPU");
        assert_eq!(
            of(|iteration| if iteration < 100 { 1000 } else { 2500 }),
            None,
            "another program on the core"
        );
    }

    #[test]
    fn nothing_is_said_where_readings_are_far_apart() {
        let of_readings = |apart: usize| {
            let moments = (0..200).map(|number| AxisMark {
                mark: number as usize,
                x: number as f64,
                at: Nanos::new(1_000_000 * number * number / 40),
            });
            let moments: Vec<AxisMark> = moments.collect();
            let cpu = |mark: &AxisMark| Nanos::new(mark.at.get() / 4);
            let sample = |mark: &AxisMark| Sample { at: mark.at, cpu: cpu(mark), ..Sample::default() };
            let timeline = moments.iter().step_by(apart).chain(moments.last()).map(sample).collect();
            let process = Process { timeline, ..Process::default() };
            let axis = Axis { how: How::Loop, count: 200, moments, ..Axis::default() };
            slowing(&axis, WorkClock::of(&process).as_ref())
        };
        assert!(of_readings(1).is_some() && of_readings(3).is_some());
        assert_eq!(of_readings(12), None);
    }

    #[test]
    fn nothing_is_said_where_cpu_time_was_not_read() {
        assert_eq!(of_both(|iteration| [0, 1000 + 20 * iteration]), None);
    }
}
