//! How fast a series rises: the median of the slopes between all pairs of its points (Theil and Sen), which a third of
//! outliers does not move, and how far from the truth that may be.

use super::series::Point;

/// Bytes per iteration, or per second, with the bounds that hold in 95 of 100 runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slope {
    /// The best guess.
    pub value: f64,
    /// Not less than this.
    pub low: f64,
    /// Not more than this.
    pub high: f64,
}

impl Slope {
    /// How far it may be from the truth, as a part of it.
    pub(crate) fn doubt(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }
}

/// The blocks that a series is cut into for its bounds.
const BLOCKS: usize = 12;
/// Of Student's distribution with so many degrees of freedom, 95 % lie within: the n-th entry is for n + 1.
const STUDENT: [f64; 11] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20];

/// The slope of points in the order of x.
pub fn slope(points: &[Point]) -> Slope {
    let value = theil_sen(points);
    let half = half_width(points);
    Slope { value, low: value - half, high: value + half }
}

fn theil_sen(points: &[Point]) -> f64 {
    let pairs = points
        .iter()
        .enumerate()
        .flat_map(|(at, one)| points[at + 1..].iter().map(move |other| (one, other)));
    let mut slopes: Vec<f64> = pairs.map(|(one, other)| (other.y - one.y) / (other.x - one.x)).collect();
    median(&mut slopes)
}

/// The middle of numbers; 0 where there are none.
pub fn median(numbers: &mut [f64]) -> f64 {
    let Some(middle) = numbers.len().checked_sub(1).map(|last| last / 2) else { return 0.0 };
    let is_even = numbers.len().is_multiple_of(2);
    let (_, low, above) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    if is_even { f64::midpoint(*low, high) } else { *low }
}

/// From how much the rises of equal parts of the series differ. The steps of a series that adds up random amounts are
/// independent, not its values: bounds from the distances to the line would be far too narrow for such a one.
fn half_width(points: &[Point]) -> f64 {
    let blocks = BLOCKS.min(points.len().saturating_sub(1));
    if blocks < 2 {
        return 0.0;
    }
    let edge = |block: usize| points[block * (points.len() - 1) / blocks];
    let rates: Vec<f64> = (0..blocks)
        .map(|block| {
            let (from, to) = (edge(block), edge(block + 1));
            (to.y - from.y) / (to.x - from.x)
        })
        .collect();
    let (_, deviation) = mean_and_deviation(&rates);
    STUDENT[blocks - 2] * deviation / (blocks as f64).sqrt()
}

/// The mean, and the standard deviation of one of the numbers.
pub fn mean_and_deviation(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        (0..).zip(values).map(|(x, y)| Point { x: f64::from(x), y }).collect()
    }

    #[test]
    fn a_line_has_its_slope_and_no_doubt() {
        let found = slope(&points((0..30).map(|x| 5.0 + 3.0 * f64::from(x))));
        assert!((found.value - 3.0).abs() < 1e-9 && found.high - found.low < 1e-9, "{found:?}");
    }

    #[test]
    fn outliers_do_not_move_it() {
        let outlying = |x: u32| if x % 5 == 3 { 1e6 } else { 3.0 * f64::from(x) };
        let found = slope(&points((0..40).map(outlying)));
        assert!((2.0..4.0).contains(&found.value), "{found:?}");
    }

    #[test]
    fn steps_have_the_slope_of_their_stairs() {
        let found = slope(&points((0..100).map(|x| f64::from(x / 10) * 50.0)));
        assert!((found.value - 5.0).abs() < 0.15, "{found:?}");
        assert!(found.low < 5.0 && found.high > 5.0, "{found:?}");
    }

    #[test]
    fn nothing_has_no_slope() {
        assert_eq!(slope(&[]), Slope::default());
        assert_eq!(slope(&points([7.0])), Slope::default());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [9.0, 1.0, 3.0]), 3.0);
    }
}
