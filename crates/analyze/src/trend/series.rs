//! A value over the iterations of a program (or over its seconds), and what of it was retained: never given back until the
//! end of the series. Growth is judged by what is retained; garbage that comes and goes is not.

/// The most points that are kept: a slope is found by comparing all pairs.
const MOST_POINTS: usize = 96;

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// The iteration, or the second.
    pub x: f64,
    /// Bytes.
    pub y: f64,
}

/// Readings in the order of x, evenly spread as far as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    points: Vec<Point>,
    /// At each point the least that any later reading says, those that were thinned out included.
    retained: Vec<f64>,
    /// The deepest fall from any reading to a later one.
    fall: f64,
}

impl Series {
    /// From readings in the order of x. Those at equal x count once.
    pub fn new(mut readings: Vec<Point>) -> Self {
        readings.retain(|point| point.x.is_finite() && point.y.is_finite());
        readings.dedup_by(|later, earlier| later.x <= earlier.x);
        let retained = retained(&readings);
        let fall = fall(&readings);
        let kept = evenly(&readings, MOST_POINTS);
        Self {
            points: kept.iter().map(|&at| readings[at]).collect(),
            retained: kept.iter().map(|&at| retained[at]).collect(),
            fall,
        }
    }

    /// The readings.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// What of each reading is never given back.
    pub fn retained(&self) -> impl ExactSizeIterator<Item = Point> + Clone {
        self.points.iter().zip(&self.retained).map(|(point, &y)| Point { x: point.x, y })
    }

    /// The deepest fall from any reading to a later one.
    pub fn fall(&self) -> f64 {
        self.fall
    }

    /// From the first x to the last.
    pub fn length(&self) -> f64 {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) => last.x - first.x,
            _ => 0.0,
        }
    }

    /// The first reading; 0 where there is none.
    pub fn first(&self) -> f64 {
        self.points.first().map_or(0.0, |point| point.y)
    }

    /// The last reading; 0 where there is none.
    pub fn last(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.y)
    }

    /// Falls of at least `deep` between the points from index `from` on.
    pub fn falls(&self, from: usize, deep: f64) -> usize {
        let mut highest = f64::NEG_INFINITY;
        let mut falls = 0;
        for point in self.points.iter().skip(from) {
            highest = highest.max(point.y);
            if highest - point.y >= deep {
                falls += 1;
                highest = point.y;
            }
        }
        falls
    }
}

fn retained(readings: &[Point]) -> Vec<f64> {
    let mut least = f64::INFINITY;
    let mut values: Vec<f64> = readings
        .iter()
        .rev()
        .map(|point| {
            least = least.min(point.y);
            least
        })
        .collect();
    values.reverse();
    values
}

fn fall(readings: &[Point]) -> f64 {
    let mut highest = f64::NEG_INFINITY;
    readings.iter().fold(0.0, |fall: f64, point| {
        highest = highest.max(point.y);
        fall.max(highest - point.y)
    })
}

/// Indices of about so many readings that lie as evenly as they can: those of loops are dense at first and ever fewer later.
pub(crate) fn evenly(readings: &[Point], most: usize) -> Vec<usize> {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Vec::new() };
    if readings.len() <= 2 {
        return (0..readings.len()).collect();
    }
    // No finer than the second half of the series has them, so that no part counts for more than another.
    let middle = first.x + (last.x - first.x) / 2.0;
    let in_second_half = readings.len() - readings.partition_point(|point| point.x < middle);
    let cells = (2 * in_second_half).saturating_sub(1).clamp(2, most);
    let width = (last.x - first.x) / cells as f64;
    let mut kept: Vec<usize> = Vec::with_capacity(cells + 1);
    let mut next = first.x;
    for (at, point) in readings.iter().enumerate() {
        if point.x + 1e-9 * width >= next {
            kept.push(at);
            next = point.x + width;
        }
    }
    if kept.last() != Some(&(readings.len() - 1)) {
        kept.push(readings.len() - 1);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series::new((0..).zip(values).map(|(x, &y)| Point { x: f64::from(x), y }).collect())
    }

    fn retained_of(values: &[f64]) -> Vec<f64> {
        series(values).retained().map(|point| point.y).collect()
    }

    #[test]
    fn what_is_given_back_later_is_not_retained() {
        assert_eq!(retained_of(&[1.0, 5.0, 2.0, 6.0, 3.0]), [1.0, 2.0, 2.0, 3.0, 3.0]);
        assert_eq!(retained_of(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_deepest_fall_may_take_several_steps() {
        assert_eq!(series(&[1.0, 9.0, 7.0, 8.0, 2.0, 5.0]).fall(), 7.0);
        assert_eq!(series(&[9.0, 7.0, 8.0, 2.0, 5.0, 1.0]).falls(0, 4.0), 2);
    }

    #[test]
    fn readings_that_are_dense_at_first_are_thinned_to_those_of_the_end() {
        let dense = (0..64).map(|x| Point { x: f64::from(x), y: 0.0 });
        let rare = (64..96).map(|x| Point { x: f64::from(64 + (x - 64) * 16), y: 0.0 });
        let series = Series::new(dense.chain(rare).collect());
        let gaps: Vec<f64> = series.points().windows(2).map(|pair| pair[1].x - pair[0].x).collect();
        assert!(gaps.iter().all(|gap| (8.0..=24.0).contains(gap)), "{gaps:?}");
        assert_eq!(series.points().last().map(|point| point.x), Some(560.0));
    }

    #[test]
    fn few_readings_are_all_kept() {
        assert_eq!(series(&[0.0; 20]).points().len(), 20);
        assert_eq!(series(&[]).length(), 0.0);
        assert_eq!(series(&[4.0]).last(), 4.0);
    }
}
