//! Series of programs that never ran, by the hundred: those that grow are found with their slope, the others are left in
//! peace.

use crate::dice::Dice;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::series::{Point, Series};
use super::shape::{Shape, Trend, trend};
use super::thresholds::Thresholds;

const THRESHOLDS: Thresholds = Thresholds::OF_ITERATIONS;

/// A program: how many iterations it makes, and the bytes that it holds at the beginning of each.
#[derive(Clone, Debug)]
struct Program {
    iterations: usize,
    seed: u64,
    /// Bytes per iteration.
    rate: f64,
    what: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// With sizes that vary by up to so much of themselves.
    Jitter(f64),
    /// A rise every so many iterations.
    Period(usize),
    /// A rise with this probability.
    Chance(f64),
    /// Another pace for this part of the run.
    WarmUp { part: f64, pace: f64 },
    /// Under noise of this part of the whole rise.
    Noise(f64),
    /// Under garbage that is collected so often, up to this part of the whole rise.
    Garbage { teeth: f64, part: f64 },
    /// Stands still, with noise.
    Still { is_heavy: bool },
    /// Grows for this part of the run only.
    Stops(f64),
    /// Rises a few times.
    Once(Vec<f64>),
    /// Remembers what it sees, out of so many things for each iteration.
    Memory(f64),
    /// Collects garbage so often and keeps nothing.
    OnlyGarbage(f64),
}

impl Program {
    /// What it holds at the beginning of each iteration.
    fn values(&self) -> Vec<f64> {
        let mut dice = Dice(!self.seed | 1);
        let passing = (0..self.iterations).map(|iteration| self.passing(iteration, &mut dice));
        self.kept().iter().zip(passing).map(|(kept, passing)| kept + passing).collect()
    }

    /// Of this, what it never gives back.
    fn kept(&self) -> Vec<f64> {
        let mut dice = Dice(self.seed | 1);
        let mut seen = vec![false; 1 + 8 * self.iterations];
        let mut held = 10_000.0;
        let add = |iteration| {
            let before = held;
            held += self.keeps(iteration, &mut dice, &mut seen);
            before
        };
        (0..self.iterations).map(add).collect()
    }

    fn whole(&self) -> f64 {
        self.iterations as f64 * self.rate
    }

    fn passing(&self, iteration: usize, dice: &mut Dice) -> f64 {
        let tooth = |teeth: f64| (iteration as f64 / self.iterations as f64 * teeth).fract();
        match self.what {
            Kind::Noise(amount) => dice.roll() * amount * self.whole(),
            Kind::Garbage { teeth, part } => tooth(teeth) * part * self.whole(),
            Kind::Still { is_heavy: true } => -dice.roll().max(1e-9).ln() * 3.0 * self.rate,
            Kind::Still { is_heavy: false } => dice.roll() * self.whole(),
            Kind::OnlyGarbage(teeth) => tooth(teeth) * self.whole() / teeth,
            _ => 0.0,
        }
    }

    fn keeps(&self, iteration: usize, dice: &mut Dice, seen: &mut [bool]) -> f64 {
        let (iterations, rate) = (self.iterations as f64, self.rate);
        let part = iteration as f64 / iterations;
        let times = |times: bool, bytes: f64| if times { bytes } else { 0.0 };
        match &self.what {
            Kind::Jitter(amount) => rate * (1.0 + amount * (2.0 * dice.roll() - 1.0)),
            Kind::Period(period) => times((iteration + 1).is_multiple_of(*period), rate * *period as f64),
            Kind::Chance(chance) => times(dice.roll() < *chance, rate / chance),
            Kind::WarmUp { part: warm, pace } => {
                if part < *warm {
                    rate * pace
                } else {
                    rate
                }
            }
            Kind::Noise(_) | Kind::Garbage { .. } => rate,
            Kind::Stops(at) => times(part < *at, rate),
            Kind::Once(at) => {
                at.iter().filter(|at| (**at * iterations) as usize == iteration).count() as f64 * self.whole()
            }
            Kind::Memory(things) => {
                let thing = (dice.roll() * things * iterations) as usize;
                times(!std::mem::replace(&mut seen[thing], true), rate)
            }
            Kind::Still { .. } | Kind::OnlyGarbage(_) => 0.0,
        }
    }

    /// As it is seen: the first 64 iterations make a mark each, then half as many every 64 marks.
    fn series(&self) -> Series {
        let values = self.values();
        let (mut iteration, mut marks, mut points) = (0, 0, Vec::new());
        while iteration < self.iterations {
            points.push(Point { x: (iteration + 1) as f64, y: values[iteration] });
            marks += 1;
            iteration += 1 << (marks / 64);
        }
        Series::new(points)
    }

    fn trend(&self) -> Trend {
        trend(&self.series(), THRESHOLDS)
    }
}

/// Programs of a kind; what it draws depends on how many iterations there are.
fn programs<K: Strategy<Value = Kind>>(
    least: usize,
    kind: impl Fn(usize) -> K,
) -> impl Strategy<Value = Program> {
    (least..3000usize)
        .prop_flat_map(move |iterations| (Just(iterations), any::<u64>(), 100.0..100_000.0, kind(iterations)))
        .prop_map(|(iterations, seed, rate, what)| Program { iterations, seed, rate, what })
}

/// Bytes per iteration after any warm-up: what was drawn where it is drawn, else what was meant.
fn truth(program: &Program) -> f64 {
    let kept = program.kept();
    match program.what {
        Kind::Jitter(_) => (kept[kept.len() - 1] - kept[0]) / (kept.len() - 1) as f64,
        _ => program.rate,
    }
}

fn is_found_with_its_slope(program: &Program, within: f64) -> Result<(), TestCaseError> {
    let (trend, truth) = (program.trend(), truth(program));
    prop_assert_eq!(trend.shape, Shape::Linear, "{:?}", trend);
    prop_assert!(
        (trend.slope.value / truth - 1.0).abs() <= within,
        "{:?} is not near {}",
        trend.slope,
        truth
    );
    Ok(())
}

fn does_not_grow(program: &Program) -> Result<(), TestCaseError> {
    let trend = program.trend();
    prop_assert!(trend.shape != Shape::Linear, "{:?}", trend);
    Ok(())
}

proptest! {
    #[test]
    fn growth_every_so_many_iterations_is_growth(
        program in programs(200, |iterations| (2..iterations / 16).prop_map(Kind::Period))
    ) {
        is_found_with_its_slope(&program, 0.05)?;
    }

    #[test]
    fn warm_up_is_left_out(
        program in programs(100, |_| (0.0..0.3, 0.0..8.0).prop_map(|(part, pace)| Kind::WarmUp { part, pace }))
    ) {
        is_found_with_its_slope(&program, 0.05)?;
    }

    #[test]
    fn growth_under_garbage_has_its_slope(
        program in programs(500, |_| (10.0..40.0, 0.0..0.1).prop_map(|(teeth, part)| Kind::Garbage { teeth, part }))
            .prop_filter("readings in step with the garbage", |program| !is_in_step(program))
    ) {
        is_found_with_its_slope(&program, 0.05)?;
    }

    #[test]
    fn what_stops_is_no_growth(program in programs(20, |_| (0.05..0.75).prop_map(Kind::Stops))) {
        does_not_grow(&program)?;
    }

    #[test]
    fn a_few_steps_are_no_growth(
        program in programs(20, |_| prop::collection::vec(0.0..1.0, 1..4).prop_map(Kind::Once))
    ) {
        does_not_grow(&program)?;
    }

    #[test]
    fn garbage_alone_is_no_growth(
        program in programs(30, |iterations| (1.5..most_teeth(iterations)).prop_map(Kind::OnlyGarbage))
    ) {
        does_not_grow(&program)?;
    }
}

// Programs that roll dice themselves: what holds for them is a matter of chance, and one of many thousands misses it. So these
// are the same in each run, and more of them.
proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn growth_by_sizes_that_vary_has_its_slope(program in programs(100, |_| (0.0..0.5).prop_map(Kind::Jitter))) {
        is_found_with_its_slope(&program, 0.05)?;
    }

    #[test]
    fn growth_under_noise_has_its_slope(program in programs(200, |_| (0.0..0.1).prop_map(Kind::Noise))) {
        is_found_with_its_slope(&program, 0.05)?;
    }

    #[test]
    fn noise_is_no_growth(program in programs(20, |_| any::<bool>().prop_map(|is_heavy| Kind::Still { is_heavy }))) {
        does_not_grow(&program)?;
    }
}

/// Whether garbage is collected at every second reading, or nearly so. All readings then find it at the same two heights, which
/// drift over the run: a tilt of up to half of the garbage, which is more than the slope is claimed to be exact to.
fn is_in_step(program: &Program) -> bool {
    let Kind::Garbage { teeth, .. } = program.what else { return false };
    let series = program.series();
    let gap = series.points().windows(2).map(|pair| pair[1].x - pair[0].x).fold(0.0, f64::max);
    (gap * teeth / program.iterations as f64 - 0.5).abs() < 0.02
}

/// Garbage must take at least two iterations to be collected for its teeth to be seen as such. Where it takes a little less,
/// every second reading finds a tooth a little later than the one before it did, and the readings are those of growth:
/// see `teeth_shorter_than_two_iterations_have_the_readings_of_growth`.
fn most_teeth(iterations: usize) -> f64 {
    (iterations as f64 / 2.0).min(30.0)
}

fn program(iterations: usize, what: Kind) -> Program {
    Program { iterations, seed: 5, rate: 1000.0, what }
}

/// The program that a search for garbage that is called growth once came to. Nobody can tell it from one that keeps a little with
/// each iteration and has garbage in every second: the readings are the same.
#[test]
fn teeth_shorter_than_two_iterations_have_the_readings_of_growth() {
    let (iterations, rate, teeth) = (30, 49_003.412_760_566_454, 15.308_281_002_794_644);
    let garbage = Program { iterations, seed: 0, rate, what: Kind::OnlyGarbage(teeth) };
    let height = garbage.whole() / teeth;
    let kept = (teeth / iterations as f64 - 0.5) * height;
    let growth = |at: usize| 10_000.0 + at as f64 * kept + if at % 2 == 1 { height / 2.0 } else { 0.0 };
    for (at, value) in garbage.values().into_iter().enumerate() {
        assert!((value - growth(at)).abs() < 1.0, "{value} bytes at {at}, not {}", growth(at));
    }
}

/// What the bound of the search claims, on a grid: no teeth that are seen are called growth.
#[test]
fn teeth_of_two_iterations_and_more_are_never_growth() {
    let grows = |iterations: usize, teeth: f64| {
        Program { what: Kind::OnlyGarbage(teeth), ..program(iterations, Kind::Jitter(0.0)) }.trend().shape
            == Shape::Linear
    };
    for iterations in 30..=130 {
        let steps = 200;
        let teeth = |step: usize| 1.5 + (most_teeth(iterations) - 1.5) * step as f64 / steps as f64;
        let wrong: Vec<f64> = (0..=steps).map(teeth).filter(|&teeth| grows(iterations, teeth)).collect();
        assert_eq!(wrong, [], "teeth in {iterations} iterations");
    }
}

#[test]
fn a_plateau_is_called_a_plateau_and_warm_up_is_none() {
    assert_eq!(program(600, Kind::Stops(1.0 / 3.0)).trend().shape, Shape::Plateau);
    assert_eq!(program(600, Kind::Stops(0.08)).trend().shape, Shape::Flat);
    assert_eq!(program(600, Kind::Stops(0.0)).trend().shape, Shape::Flat);
}

#[test]
fn a_cache_that_fills_says_where_it_will_stop() {
    let Shape::Filling { level } = program(2000, Kind::Memory(0.7)).trend().shape else { panic!("it fills") };
    let truth = 10_000.0 + 0.7 * 2000.0 * 1000.0;
    assert!((level / truth - 1.0).abs() < 0.15, "{level} is not near {truth}");
}

#[test]
fn over_seconds_a_decreasing_rate_is_no_cache_that_fills() {
    let series = program(2000, Kind::Memory(0.7)).series();
    let of_seconds = Thresholds { counts_iterations: false, ..THRESHOLDS };
    assert_eq!(trend(&series, of_seconds).shape, Shape::Slowing);
    let linear = program(2000, Kind::Jitter(0.0)).series();
    assert_eq!(trend(&linear, of_seconds).shape, Shape::Linear);
}

/// How many of a thousand programs, drawn from the same dice in each run, grow as it seems.
fn grow(kind: impl Fn(&mut Dice) -> Kind) -> usize {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut draw = || Program {
        iterations: 500 + (dice.roll() * 2500.0) as usize,
        seed: dice.roll().to_bits(),
        rate: 1000.0,
        what: kind(&mut dice),
    };
    (0..1000).filter(|_| draw().trend().shape == Shape::Linear).count()
}

#[test]
fn growth_by_chance_is_growth() {
    let found = grow(|dice| Kind::Chance(0.1 + 0.9 * dice.roll()));
    assert!(found >= 990, "{found} of 1,000");
}

#[test]
fn a_memory_that_has_seen_most_things_is_no_growth() {
    let found = grow(|dice| Kind::Memory(0.1 + 0.4 * dice.roll()));
    assert!(found <= 20, "{found} of 1,000");
}

#[test]
fn what_rose_while_readings_are_missing_did_not_rise_at_once() {
    let shape = |while_missing: &dyn Fn(u32) -> Option<u32>| {
        let is_missing = |x: &u32| (42..76).contains(x);
        let y = |x: u32| if is_missing(&x) { while_missing(x) } else { Some(x) };
        let point = |x: u32| Some(Point { x: f64::from(x), y: 4096.0 * f64::from(y(x)?) });
        let readings = (0..100).step_by(2).filter_map(point);
        trend(&Series::new(readings.collect()), Thresholds::OF_SECONDS.of_exact(4096.0)).shape
    };
    assert_eq!(shape(&Some), Shape::Linear, "none is missing");
    assert_eq!(shape(&|_| None), Shape::Linear);
    assert_eq!(shape(&|_| Some(42)), Shape::Steps, "it stood still, and rose at once");
}

#[test]
fn few_readings_say_nothing() {
    assert_eq!(program(9, Kind::Jitter(0.0)).trend().shape, Shape::TooShort);
    assert_eq!(program(20, Kind::Jitter(0.0)).trend().shape, Shape::Linear);
}

#[test]
fn what_is_too_little_to_matter_is_no_growth() {
    assert_eq!(Program { rate: 1.0, ..program(1000, Kind::Jitter(0.0)) }.trend().shape, Shape::Flat);
}

#[test]
fn sampled_growth_needs_enough_samples() {
    let sampled = Thresholds { grain: 4096.0, ..THRESHOLDS };
    let of = |rate| trend(&Program { rate, ..program(1000, Kind::Jitter(0.0)) }.series(), sampled);
    assert_eq!(of(20.0).shape, Shape::Flat, "five samples");
    let found = of(1000.0);
    assert_eq!(found.shape, Shape::Linear);
    assert!(found.slope.high - found.slope.value > 100.0, "the bounds say that it was sampled: {found:?}");
}

#[test]
fn readings_that_all_lie_at_the_begin_but_the_last_are_judged() {
    for thresholds in [Thresholds::OF_ITERATIONS, Thresholds::OF_SECONDS] {
        for count in 3..60 {
            // Work that was done before the last reading, and hardly any before the others.
            let x = |at: u32| if at == count { 1000.0 } else { f64::from(at) };
            let points = (0..=count).map(|at| Point { x: x(at), y: 1e6 * f64::from(at) }).collect();
            let judged = trend(&Series::new(points), thresholds);
            assert_ne!(judged.shape, Shape::Linear, "{count} readings");
        }
    }
}
