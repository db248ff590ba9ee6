//! Iterations that become slower over the run: evidence that something is searched, copied or walked that grows. Work that
//! differs from one iteration to the next shows as much, so it is never a finding by itself.

use super::axis::{Axis, AxisMark};
use super::slope::median;

/// Fewer distances between marks say nothing.
const LEAST_DISTANCES: usize = 24;
/// So much of the run is warm-up.
const WARM_UP: f64 = 0.1;
/// How much slower the last part of the run must be than the first.
const LEAST_RATIO: f64 = 1.5;
/// Parts that are compared: each must be as slow as the one before it, up to what a busy machine does.
const PARTS: usize = 4;
const NOISE: f64 = 0.95;

/// How long iterations took, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowing {
    /// In the first part of the run, after its warm-up.
    pub first: f64,
    /// In the last part.
    pub last: f64,
}

/// Whether iterations become slower; `None` where they do not, or where that is not known.
pub(crate) fn slowing(axis: &Axis) -> Option<Slowing> {
    let distances: Vec<f64> =
        axis.moments.windows(2).filter_map(|pair| seconds(&pair[0], &pair[1])).collect();
    let warm = &distances[(distances.len() as f64 * WARM_UP) as usize..];
    if warm.len() < LEAST_DISTANCES {
        return None;
    }
    let part = |part: usize| &warm[part * warm.len() / PARTS..(part + 1) * warm.len() / PARTS];
    let medians: [f64; PARTS] = std::array::from_fn(|at| median(&mut part(at).to_vec()));
    let (first, last) = (medians[0], medians[PARTS - 1]);
    let never_faster = medians.windows(2).all(|pair| pair[1] >= NOISE * pair[0]);
    (never_faster && first > 0.0 && last >= LEAST_RATIO * first).then_some(Slowing { first, last })
}

/// How long one iteration took between two marks.
fn seconds(from: &AxisMark, to: &AxisMark) -> Option<f64> {
    let time = to.at.get().checked_sub(from.at.get())? as f64 / 1e9;
    (to.x > from.x).then(|| time / (to.x - from.x))
}

#[cfg(test)]
mod tests {
    use super::super::axis::How;
    use super::*;
    use heaplens_format::Nanos;

    /// Of iterations that take so many microseconds each.
    fn of(micros: impl Fn(u64) -> u64) -> Option<Slowing> {
        let mut at = 0;
        let moments = (0..200).map(|iteration| {
            at += micros(iteration);
            AxisMark { mark: iteration as usize, x: iteration as f64, at: Nanos::new(1000 * at) }
        });
        slowing(&Axis { how: How::Loop, count: 200, moments: moments.collect(), ..Axis::default() })
    }

    #[test]
    fn iterations_that_take_ever_longer_are_reported_with_both_times() {
        let found = of(|iteration| 1000 + 20 * iteration).unwrap();
        assert!((found.first - 0.0018).abs() < 0.0002 && (found.last - 0.0045).abs() < 0.0003, "{found:?}");
    }

    #[test]
    fn iterations_that_only_differ_are_not() {
        assert_eq!(of(|_| 1000), None);
        assert_eq!(of(|iteration| if iteration % 10 == 9 { 90_000 } else { 1000 }), None);
        assert_eq!(of(|iteration| if iteration < 30 { 1000 } else { 1400 }), None);
        assert_eq!(
            of(|iteration| if (100..150).contains(&iteration) { 9000 } else { 1000 }),
            None,
            "a busy machine"
        );
        assert_eq!(of(|iteration| 5000 - 20 * iteration), None);
    }
}
