//! What a series does: grow on and on, fill up, stand still.
//!
//! It is judged by what is retained ([`Series::retained`]), which only ever rises. Where it rises is a distribution over x:
//!
//! ```text
//!   growth            a straight line: the rise is spread evenly over the run
//!   warm-up           a part at the beginning has more than its share; without it the rest is even
//!   plateau           no rise in the last part
//!   a one-time step   all of the rise at one x
//!   sawtooth garbage  all of the rise after the last fall, and no more than fell then
//!   noise             the same, many times over
//!   a cache filling   spread over the run, but less in each part than in the one before (over iterations: over seconds the
//!                     program may have become slower)
//! ```
//!
//! So growth needs a part of at least half of the run over which the rise is spread evenly (the distance of Kolmogorov
//! between the two is small), made of several single rises, larger than what ever fell, and still going on at the end.

use super::series::{Point, Series};
use super::slope::{Slope, mean_and_deviation, slope};
use super::thresholds::Thresholds;

/// At the end what is retained is not known yet: the next fall may come. So much of the run is not judged by it.
const UNJUDGED: f64 = 0.1;
/// How much of the run may be warm-up, and in what steps it is assumed.
const WARM_UPS: [f64; 11] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
/// Distances that differ by less are the same.
const SAME_DISTANCE: f64 = 0.03;
/// Rises after this part of the run are no warm-up any more.
const WARM: f64 = 0.15;
/// A part without a rise this long at the end of the run is a plateau.
const STILL: f64 = 0.2;
/// A sample counts as one rise; fewer of them than this may be chance.
const LEAST_SAMPLES: f64 = 8.0;

/// The part of a sampled slope that must be left at its lower bound.
const SURELY: f64 = 0.25;
/// What is left of the pace of a rise that falls off, from one half of it to the other, at most.
const MOST_LEFT: f64 = 0.95;

/// Falls after which the next one is to be expected.
const SEVERAL: usize = 4;

/// What chance does with samples is less than so many standard deviations, in 95 of 100 runs.
const DEVIATIONS: f64 = 2.0;

/// What a series does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// It grows, at the same pace until the end.
    Linear,
    /// It grows ever slower, as a cache does that sees the same things again.
    Filling {
        /// The bytes at which it will stop, where it goes on like that.
        level: f64,
    },
    /// It grows less in a second than it did before. A program may just have become slower: whether it stops is not known.
    Slowing,
    /// It grew and stopped.
    Plateau,
    /// It rose in a few steps; whether more will come is not known.
    Steps,
    /// It does not grow.
    Flat,
    /// There are too few readings to say.
    TooShort,
}

impl Shape {
    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Filling { .. } | Self::Plateau => "plateau",
            Self::Slowing => "slowing",
            Self::Steps => "steps",
            Self::Flat => "flat",
            Self::TooShort => "too-short",
        }
    }
}

/// What a series does, and how fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// What it does.
    pub shape: Shape,
    /// How fast, after the warm-up.
    pub slope: Slope,
    /// Bytes retained since the beginning of the series.
    pub rise: f64,
    /// Bytes at its beginning.
    pub first: f64,
    /// Bytes at its end.
    pub level: f64,
    /// Bytes by which it falls again and again, as what a collector comes back to does; 0 where it does not.
    pub shed: f64,
}

impl Trend {
    /// Of what never changed.
    pub const FLAT: Self = Self {
        shape: Shape::Flat,
        slope: Slope { value: 0.0, low: 0.0, high: 0.0 },
        rise: 0.0,
        first: 0.0,
        level: 0.0,
        shed: 0.0,
    };

    /// Bytes per iteration that it goes on by: none where it does not grow, `None` where that is not known.
    pub fn pace(&self) -> Option<f64> {
        match self.shape {
            Shape::Linear | Shape::Filling { .. } | Shape::Slowing => Some(self.slope.value),
            Shape::Flat | Shape::Plateau => Some(0.0),
            Shape::Steps | Shape::TooShort => None,
        }
    }

    /// The same of so many times as much.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let Slope { value, low, high } = self.slope;
        Self {
            shape: self.shape,
            slope: Slope { value: factor * value, low: factor * low, high: factor * high },
            rise: factor * self.rise,
            first: factor * self.first,
            level: factor * self.level,
            shed: factor * self.shed,
        }
    }

    /// It and another thing that grows, as one.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let slope = |of: fn(&Slope) -> f64| of(&self.slope) + of(&other.slope).max(0.0);
        Self {
            shape: self.shape,
            slope: Slope {
                value: slope(|one| one.value),
                low: slope(|one| one.low),
                high: slope(|one| one.high),
            },
            rise: self.rise + other.rise,
            first: self.first + other.first,
            level: self.level + other.level,
            shed: self.shed.max(other.shed),
        }
    }
}

/// Judges a series.
pub fn trend(series: &Series, thresholds: Thresholds) -> Trend {
    let rise = rise(series);
    let of = |shape, slope| Trend {
        shape,
        slope,
        rise,
        first: series.first(),
        level: series.last(),
        shed: shed(series),
    };
    if series.points().len() < thresholds.least_points {
        return of(Shape::TooShort, slope(series.points()));
    }
    match growth(series, thresholds) {
        Some((window, slope)) => of(growing(series, window, thresholds), slope),
        None => of(standing(series, rise, thresholds), slope(still_part(series))),
    }
}

/// Points by index, the last one included.
#[derive(Clone, Copy, Debug)]
struct PointRange {
    from: usize,
    to: usize,
}

/// How the rise of a window is spread.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Bytes.
    rise: f64,
    /// As if it were made of so many equal rises.
    rises: f64,
    /// Kolmogorov's distance from an even spread.
    distance: f64,
}

/// The part of the series that grows evenly, and how fast; `None` where there is none.
fn growth(series: &Series, thresholds: Thresholds) -> Option<(PointRange, Slope)> {
    let retained: Vec<Point> = series.retained().collect();
    let to = index_at(series, 1.0 - UNJUDGED).min(retained.len() - 2);
    // All of a program's work may lie between its last two readings.
    let windows = WARM_UPS.map(|part| PointRange { from: index_at(series, part).min(to), to });
    let spreads = windows.map(|window| (window, spread(&retained[window.from..=window.to])));
    let believed =
        || spreads.iter().filter(|(window, spread)| is_growth(series, *window, *spread, thresholds));
    let least = believed().map(|(_, spread)| spread.distance).fold(f64::INFINITY, f64::min);
    let chosen = believed().find(|(_, spread)| spread.distance <= least + SAME_DISTANCE);
    let (window, _) =
        *chosen.filter(|(window, _)| !has_stopped(&retained[window.from..], series.length()))?;
    let slope = within(window_slope(series, window), thresholds, window, series);
    // Samples that came and went by chance leave a slope that may as well be none.
    (thresholds.grain == 0.0 || slope.low > SURELY * slope.value).then_some((window, slope))
}

fn is_growth(series: &Series, window: PointRange, spread: Spread, thresholds: Thresholds) -> bool {
    let rises =
        if thresholds.grain > 0.0 { spread.rises.min(spread.rise / thresholds.grain) } else { spread.rises };
    let fall = series.fall();
    // After several falls the next one would have come, too; after one or two nothing is known but how deep they were.
    let outgrown = if series.falls(window.from, fall / 2.0) >= SEVERAL { 0.5 * fall } else { 1.5 * fall };
    let uneven = (1.0 / rises.max(1.0).sqrt()).clamp(thresholds.most_uneven, 1.75 * thresholds.most_uneven);
    spread.rise >= thresholds.least_rise
        && spread.rise >= LEAST_SAMPLES * thresholds.grain
        && spread.rise > outgrown
        && rises >= thresholds.least_rises
        && spread.distance <= uneven
}

fn spread(retained: &[Point]) -> Spread {
    let (first, last) = (retained[0], retained[retained.len() - 1]);
    let rise = last.y - first.y;
    if rise <= 0.0 {
        return Spread { rise: 0.0, rises: 0.0, distance: 1.0 };
    }
    let usual = usual_distance(retained);
    // Where readings are missing, what rose is not known to have risen at once.
    let readings = |pair: &[Point]| ((pair[1].x - pair[0].x) / usual).max(1.0);
    let squares: f64 = retained.windows(2).map(|pair| (pair[1].y - pair[0].y).powi(2) / readings(pair)).sum();
    let even = |point: &Point| (point.x - first.x) / (last.x - first.x);
    let distances = retained.iter().map(|point| ((point.y - first.y) / rise - even(point)).abs());
    Spread { rise, rises: rise * rise / squares, distance: distances.fold(0.0, f64::max) }
}

/// How far apart the readings are, most of the time.
fn usual_distance(points: &[Point]) -> f64 {
    let mut distances: Vec<f64> = points.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Whether the last rise is much longer ago than the rises before it were apart.
fn has_stopped(retained: &[Point], length: f64) -> bool {
    let rise = retained[retained.len() - 1].y - retained[0].y;
    let is_rise = |pair: &&[Point]| pair[1].y - pair[0].y > rise / 1000.0;
    let at: Vec<f64> = retained.windows(2).filter(is_rise).map(|pair| pair[1].x).collect();
    let gap = at.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    let end = retained[retained.len() - 1].x;
    at.last().is_none_or(|last| end - last > (2.0 * gap).max(UNJUDGED * length))
}

/// What a series does that grows.
fn growing(series: &Series, window: PointRange, thresholds: Thresholds) -> Shape {
    match filling(series, window, thresholds.grain) {
        None => Shape::Linear,
        Some(filling) if thresholds.counts_iterations => filling,
        Some(_) => Shape::Slowing,
    }
}

/// A rise that falls off: over the run from quarter to quarter, the first left out since it may be warm-up; over the part that
/// grows from third to third; or, after a faster beginning, over the halves of that part, where the burden of proof is on
/// the growth. Where the later half is nearly as fast as the earlier one, chance made it look so: objects are sampled. It may also be chance where
/// few samples make a larger difference; `grain` is the bytes that one stands for.
fn filling(series: &Series, window: PointRange, grain: f64) -> Option<Shape> {
    let retained: Vec<Point> = series.retained().collect();
    let (run, part) = (&retained[..=window.to], &retained[window.from..=window.to]);
    let [_, second, third, fourth] = parts::<4>(run);
    let [early, middle, late] = parts::<3>(part);
    let [first_half, second_half] = parts::<2>(part);
    let [first_of_run, second_of_run] = parts::<2>(run);
    let over_the_run = is_less(&fourth, &second, 0.8, 3.0)
        && is_less(&fourth, &third, 0.92, 1.5)
        && is_less(&second_of_run, &first_of_run, 0.85, 0.0);
    let over_the_part = is_less(&late, &early, 0.75, 3.0)
        && is_less(&late, &middle, 0.95, 0.0)
        && is_less(&second_half, &first_half, MOST_LEFT, 0.0);
    let is_slower = window.from > 0 && pace(&retained[..=window.from]) > 1.4 * pace(part);
    let after_the_start = is_slower && is_less(&second_half, &first_half, 0.8, 0.0);
    let is_slowing = over_the_run && !may_be_chance(run, grain)
        || (over_the_part || after_the_start) && !may_be_chance(part, grain);
    is_slowing.then(|| Shape::Filling { level: stops_at(series, part) })
}

/// Whether the later half of some points rises less than the earlier one by no more than the samples leave open that the rises are made of (as many
/// of them as in a half vary by the root of their number).
fn may_be_chance(points: &[Point], grain: f64) -> bool {
    let middle = (points.len() - 1) / 2;
    let [(earlier, early_error), (later, late_error)] = [&points[..=middle], &points[middle..]].map(|half| {
        let length = half[half.len() - 1].x - half[0].x;
        let rise = (half[half.len() - 1].y - half[0].y).max(0.0);
        (rise / length, grain * rise / length.powi(2))
    });
    grain > 0.0 && earlier - later <= DEVIATIONS * (early_error + late_error).sqrt()
}

/// Where a series comes to that loses the same share of its pace in equal times.
fn stops_at(series: &Series, part: &[Point]) -> f64 {
    let [first, second] = parts::<2>(part).map(|rates| mean_and_deviation(&rates).0);
    let factor = (second / first).clamp(0.0, MOST_LEFT);
    let half = (part[part.len() - 1].x - part[0].x) / 2.0;
    series.last() + second * half * factor / (1.0 - factor)
}

fn pace(points: &[Point]) -> f64 {
    let (first, last) = (points[0], points[points.len() - 1]);
    (last.y - first.y) / (last.x - first.x)
}

/// The rates of equal parts.
fn parts<const PARTS: usize>(points: &[Point]) -> [Vec<f64>; PARTS] {
    let last = points.len() - 1;
    std::array::from_fn(|part| rates(&points[part * last / PARTS..=(part + 1) * last / PARTS]))
}

fn rates(points: &[Point]) -> Vec<f64> {
    points.windows(2).map(|pair| (pair[1].y - pair[0].y) / (pair[1].x - pair[0].x)).collect()
}

/// Whether the mean of some rates is below that of others by this ratio at least, and not by chance (Welch's test).
fn is_less(some: &[f64], others: &[f64], ratio: f64, deviations: f64) -> bool {
    let ((mean, spread), (others_mean, others_spread)) =
        (mean_and_deviation(some), mean_and_deviation(others));
    let error =
        (spread * spread / some.len() as f64 + others_spread * others_spread / others.len() as f64).sqrt();
    mean <= ratio * others_mean && others_mean - mean > deviations * error
}

/// The slope of the growing part. Garbage that is collected a few times only would tilt it: then of what is retained.
fn window_slope(series: &Series, window: PointRange) -> Slope {
    let retained: Vec<Point> = series.retained().collect();
    let judged = &retained[window.from..=window.to];
    let rise = judged[judged.len() - 1].y - judged[0].y;
    let is_tilted = series.fall() > 0.2 * rise && series.falls(window.from, series.fall() / 2.0) < 8;
    if is_tilted { slope(judged) } else { slope(&series.points()[window.from..]) }
}

/// Widens the bounds to what sampling leaves open.
fn within(slope: Slope, thresholds: Thresholds, window: PointRange, series: &Series) -> Slope {
    let points = &series.points()[window.from..];
    let length = points[points.len() - 1].x - points[0].x;
    let half = 1.96 * (thresholds.grain * slope.value.max(0.0) / length).sqrt();
    Slope { low: slope.low.min(slope.value - half), high: slope.high.max(slope.value + half), ..slope }
}

/// The depth of falls that come again and again.
fn shed(series: &Series) -> f64 {
    let fall = series.fall();
    if fall > 0.0 && series.falls(0, fall / 2.0) >= SEVERAL { fall } else { 0.0 }
}

/// What a series does that does not grow.
fn standing(series: &Series, rise: f64, thresholds: Thresholds) -> Shape {
    let matters =
        rise >= thresholds.least_rise && rise >= LEAST_SAMPLES * thresholds.grain && rise > series.fall();
    if !matters {
        return Shape::Flat;
    }
    let base = series.retained().next().map_or(0.0, |point| point.y);
    let start = series.points()[0].x;
    let reached = |part: f64| {
        let point = series.retained().find(|point| point.y - base >= part * rise);
        point.map_or(1.0, |point| (point.x - start) / series.length())
    };
    match reached(0.95) {
        ..=WARM => Shape::Flat,
        at if at <= 1.0 - STILL => Shape::Plateau,
        _ => Shape::Steps,
    }
}

/// What comes after any rise of a series that does not grow: at most its second half.
fn still_part(series: &Series) -> &[Point] {
    &series.points()[index_at(series, 0.5)..]
}

fn rise(series: &Series) -> f64 {
    let judged = series.points().len().min(index_at(series, 1.0 - UNJUDGED) + 1);
    let mut values = series.retained().take(judged).map(|point| point.y);
    let first = values.next().unwrap_or(0.0);
    values.last().map_or(0.0, |last| last - first)
}

/// The first point at or after this part of the series.
fn index_at(series: &Series, part: f64) -> usize {
    let points = series.points();
    let Some(first) = points.first() else { return 0 };
    let x = first.x + part * series.length();
    points.partition_point(|point| point.x < x - 1e-9 * series.length()).min(points.len() - 1)
}
