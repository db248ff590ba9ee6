//! What grows, how fast, and whether it stops: for every line that allocates, for the layers, and for resident memory. Judged
//! by the values that sites had at marks; in a program that makes none per second, by those at moments of the recorder's, and
//! by the readings of the time-line.

use heaplens_format::arena::marks::ENOUGH_ITERATIONS;
use heaplens_format::recording::Sample;

use super::diagnosis::Diagnosis;
use super::evidence::Evidence;
use super::growing::{
    Cause, GrowingLine, GrowingSites, Overhead, ThreadCounts, given_up, growing_mappings, held_by_lines,
    lines, most_threads, of_lines, of_mapping, of_seconds, of_threads, together,
};
use super::known::Known;
use super::plateau::{Plateau, plateau};
use super::reclaim_test::Reclaimed;
use super::rule::Finding;
use super::rules;
use super::unreachable::UnreachableParts;
use super::verdict::{self, VerdictBasis};
use crate::frameworks;
use crate::profile::SiteProfile;
use crate::trend::{
    Axis, How, LEAST_OF_LINE, LEAST_OF_WHOLE, LEAST_POINTS, LEAST_TO_STOP, Shape, Thresholds, Trend,
    WorkClock, slowing, trend,
};

/// How long a program must run for its growth per second to be believed. A script without a loop does one thing after the
/// other: only a long one can be a server. From when its imports were over on, where that is known. Nor does a helper do more than one thing.
const LEAST_SECONDS: f64 = 1.0;
const LEAST_SECONDS_OF_HELPER: f64 = 15.0;
const LEAST_SECONDS_OF_SCRIPT: f64 = 60.0;
const LEAST_SECONDS_AFTER_IMPORTS: f64 = 15.0;

/// A slope that may be wrong by more than this part of it is uneven; and how much less that must be over work.
const UNEVEN: f64 = 0.05;
const MUCH_LESS: f64 = 0.5;

/// The part of a line's growth that others may give up at the same time.
const TAKEN_OVER: f64 = 0.5;

/// Judges a process.
pub(crate) fn diagnose(known: Known<'_>) -> Diagnosis {
    let axis = Axis::of(known.process, known.iterations);
    match axis.how {
        How::Loop | How::Marks => known.per_iteration(&axis),
        How::Time => {
            let by_work = axis.over_work(known.process).filter(|work| known.is_even_over(work, &axis));
            known.per_second(by_work.as_ref().unwrap_or(&axis))
        }
    }
}

/// What runs of frameworks are called. A mark does not say whose run it is: the first that marks any is meant.
fn framework_runs() -> Option<&'static str> {
    frameworks::ALL.iter().find_map(|framework| framework.runs)
}

impl Known<'_> {
    fn per_iteration(self, axis: &Axis) -> Diagnosis {
        let thresholds = Thresholds {
            least_rise: LEAST_OF_LINE.max(self.resident() / 2000.0),
            ..Thresholds::OF_ITERATIONS
        };
        let mut causes = Cause::all(self, axis);
        let growing = GrowingSites::of(self, (axis, thresholds), &mut causes);
        let counted = ThreadCounts { process: self.process, axis, thresholds: Thresholds::OF_ITERATIONS };
        let lines = lines(&growing, &causes, counted, thresholds);
        let rss = self.of_rss(axis, Thresholds::OF_ITERATIONS);
        let live = trend(&self.live_at(axis), thresholds);
        let has_threads = lines.iter().any(GrowingLine::starts_threads);
        let others = if has_threads { None } else { self.more_threads(counted) };
        let others = (others, self.growing_mappings(axis, Thresholds::OF_ITERATIONS, rss.as_ref()));
        let mut findings = of_lines(&lines, others, rss.as_ref(), self.with_overhead(), axis);
        let reclaimed = Reclaimed::of(self, axis, live.level, self.live_at(axis).length());
        self.review(&reclaimed, rss.as_ref(), &mut findings);
        let stops = |trend: &Trend, least: f64| verdict::is_stopped(trend.shape) && trend.rise >= least;
        let least_to_stop = self.least_of_line_to_stop(rss.as_ref());
        let stopped = lines.iter().any(|line| stops(line.trend(), least_to_stop))
            || rss.as_ref().is_some_and(|rss| stops(rss, self.least_to_stop()));
        // Iterations that make no mark allocate nothing: many of them with few marks are not too few.
        let is_few = axis.count < ENOUGH_ITERATIONS && axis.moments.len() < LEAST_POINTS;
        let too_short = is_few && self.rose(axis);
        let basis = VerdictBasis { stopped, too_short };
        Diagnosis {
            how: axis.how,
            count: axis.count,
            runs: axis.is_of_runs.then(framework_runs).flatten(),
            seconds_per_iteration: axis.seconds_per_iteration(),
            enough: too_short.then_some(ENOUGH_ITERATIONS),
            rss,
            live: Some(live),
            layers: self.layers(&growing, axis, thresholds),
            ledger: self.lines_of_ledger(axis, Thresholds::OF_ITERATIONS),
            slowing: slowing(axis, WorkClock::of(self.process).as_ref()),
            lines: growing.lines.len(),
            plateau: plateau(&lines, least_to_stop),
            verdict: Some(verdict::verdict(&findings, basis)),
            findings,
            below_floor: Vec::new(),
            basis,
            slopes: growing.slopes,
        }
    }

    /// Bytes of a line's rise that stopped. Where resident memory stands all the time, what it could not show is not worth a word: other lines gave up
    /// as much, or a moment was seen at which the line had more than at others.
    fn least_of_line_to_stop(self, rss: Option<&Trend>) -> f64 {
        match rss.is_some_and(|rss| rss.shape == Shape::Flat) {
            true => self.least_of_whole(),
            false => self.least_to_stop(),
        }
    }

    /// Whether growth that is uneven over time is even over the work that the program did: on a busy machine it has more of a CPU in one second
    /// than in another. What stopped has stopped, whatever else the program did since.
    fn is_even_over(self, work: &Axis, time: &Axis) -> bool {
        let values: [fn(&Sample) -> u64; 2] = [|sample| sample.live.get(), |sample| sample.rss.get()];
        values.into_iter().any(|value| {
            let over = |axis: &Axis| trend(&axis.timeline(self.process, value), Thresholds::OF_SECONDS);
            let (of_time, of_work) = (over(time), over(work));
            let doubt = of_time.slope.doubt();
            let is_uneven = match of_time.shape {
                Shape::Slowing | Shape::Steps => true,
                Shape::Linear => doubt > UNEVEN && of_work.slope.doubt() < MUCH_LESS * doubt,
                _ => false,
            };
            is_uneven && of_work.shape == Shape::Linear
        })
    }

    fn per_second(self, axis: &Axis) -> Diagnosis {
        let rss = self.of_rss(axis, Thresholds::OF_SECONDS);
        let live_series = axis.timeline(self.process, |sample| sample.live.get());
        let least = self.least_seconds(axis);
        let is_long = live_series.length() >= least;
        let of_live = Thresholds { least_rise: LEAST_TO_STOP, ..Thresholds::OF_SECONDS };
        let live = Some(trend(&live_series, of_live)).filter(|_| live_series.points().len() > 1);
        let grows = |trend: &Option<Trend>| trend.filter(|trend| is_long && trend.shape == Shape::Linear);
        let counted = ThreadCounts { process: self.process, axis, thresholds: Thresholds::OF_SECONDS };
        let (mut findings, plateau) = if is_long && axis.covers(&live_series) {
            self.lines_per_second(counted, rss.as_ref(), grows(&rss).or(grows(&live)))
        } else {
            let threads = if is_long { self.more_threads(counted) } else { None };
            let of_heap = grows(&live)
                .map(|trend| of_seconds(trend, &held_by_lines(self.stacks, self.sites), self.sites));
            let mappings = if is_long {
                self.growing_mappings(axis, Thresholds::OF_SECONDS, rss.as_ref())
            } else {
                Vec::new()
            };
            (together(threads, of_heap, mappings, grows(&rss)), None)
        };
        let reclaimed = Reclaimed::of(self, axis, live_series.last(), live_series.length());
        self.review(&reclaimed, rss.as_ref(), &mut findings);
        let too_short = !is_long && self.may_grow(axis, live);
        let stopped = is_long && live.iter().chain(&rss).any(|trend| trend.shape == Shape::Plateau);
        let basis = VerdictBasis { stopped, too_short };
        Diagnosis {
            enough: too_short.then_some(least as u64),
            ledger: self.lines_of_ledger(axis, Thresholds::OF_SECONDS),
            rss,
            live,
            plateau,
            verdict: Some(verdict::verdict(&findings, basis)),
            findings,
            basis,
            ..Diagnosis::default()
        }
    }

    fn least_seconds(self, axis: &Axis) -> f64 {
        match self.process.python {
            None if self.is_helper => LEAST_SECONDS_OF_HELPER,
            None => LEAST_SECONDS,
            Some(_) if axis.begin > 0.0 => LEAST_SECONDS_AFTER_IMPORTS,
            Some(_) => LEAST_SECONDS_OF_SCRIPT,
        }
    }

    /// Whether a program that was too short to judge kept what it may go on to keep: a script only what came after its imports.
    fn may_grow(self, axis: &Axis, live: Option<Trend>) -> bool {
        let rose = live.is_some_and(|trend| trend.rise >= LEAST_OF_WHOLE);
        let is_work = self.process.python.is_none() || axis.begin > 0.0 && rose;
        // What a short program gave back before its end did not grow, whatever a reading in between says.
        let stands = live.is_some_and(|trend| matches!(trend.shape, Shape::Flat | Shape::Plateau));
        is_work && !stands && self.kept() >= LEAST_OF_WHOLE
    }

    /// What lines grow by, where their values over time are known, and the one that rose most and stands; `whole` is the growth of the
    /// program as a whole.
    fn lines_per_second(
        self,
        counted: ThreadCounts<'_>,
        rss: Option<&Trend>,
        whole: Option<Trend>,
    ) -> (Vec<Finding>, Option<Plateau>) {
        let axis = counted.axis;
        let thresholds =
            Thresholds { least_rise: LEAST_TO_STOP.max(self.resident() / 2000.0), ..Thresholds::OF_SECONDS };
        let growing = GrowingSites::of(self, (axis, thresholds), &mut Vec::new());
        let mut lines = lines(&growing, &[], counted, thresholds);
        // What one line takes over from others, while the heap stays as it is, is no growth.
        let given_up = given_up(&growing, axis, thresholds);
        let is_its_own = |line: &GrowingLine<'_>| given_up <= TAKEN_OVER * line.trend().slope.value;
        lines.retain(|line| line.starts_threads() || is_its_own(line));
        let has_threads = lines.iter().any(GrowingLine::starts_threads);
        let threads = if has_threads { None } else { self.more_threads(counted) };
        let others = (threads, self.growing_mappings(axis, Thresholds::OF_SECONDS, rss));
        let findings = of_lines(&lines, others, whole.as_ref(), self.with_overhead(), axis);
        (findings, plateau(&lines, self.least_to_stop()))
    }

    /// The sites, and what the allocator spends on their blocks.
    fn with_overhead(&self) -> (&[SiteProfile], Overhead) {
        (self.sites, Overhead::of(self.process))
    }

    /// Lets rules review all findings, as far as what they read was recorded.
    fn review(self, reclaimed: &Reclaimed, rss: Option<&Trend>, findings: &mut Vec<Finding>) {
        let unreachable = &UnreachableParts::while_running(self);
        let evidence = Evidence { known: self, reclaimed, unreachable, rss, resident: self.resident() };
        let asked = rules::all().iter().filter(|rule| rule.can_judge(self));
        asked.filter_map(|rule| rule.review).for_each(|review| review(&evidence, findings));
    }

    /// Threads whose number grows by the time-line, or whose stacks do by the ledgers.
    fn more_threads(self, counted: ThreadCounts<'_>) -> Option<Finding> {
        let running = counted.running();
        let starter = most_threads(self.stacks, self.sites);
        let running = counted.growing(&running).map(|counts| (counts, counted.bytes_of_one(&running)));
        let left = starter.as_ref().map_or(0, |(_, _, left)| *left);
        let (counts, one) = running.or_else(|| counted.by_ledgers(left))?;
        Some(of_threads(counted, &counts, one, starter, self.sites))
    }

    /// Mappings that grow by the ledgers. Readings of resident memory are more than ledgers are, and know better.
    fn growing_mappings(self, axis: &Axis, thresholds: Thresholds, rss: Option<&Trend>) -> Vec<Finding> {
        if rss.is_some_and(|rss| matches!(rss.shape, Shape::Flat | Shape::Plateau)) {
            return Vec::new();
        }
        let thresholds = Thresholds { least_rise: self.least_of_whole(), ..thresholds };
        let mappings = growing_mappings(self, axis, thresholds, rss);
        mappings.into_iter().map(|mapping| of_mapping(mapping, self.sites)).collect()
    }
}

#[cfg(test)]
mod tests {
    use heaplens_format::recording::Process;
    use heaplens_format::{Bytes, Nanos};

    use super::*;
    use crate::diagnose::testing::known_of;
    use crate::diagnose::verdict::Verdict;
    use crate::profile::Stacks;

    /// Whether growth is judged by work: readings of twenty seconds, with the CPU seconds and the live MiB at each of them.
    fn by_work(cpu: fn(f64) -> f64, live: fn(f64) -> f64) -> bool {
        let sample = |tick: u32| {
            let seconds = f64::from(tick) / 10.0;
            Sample {
                at: Nanos::new((seconds * 1e9) as u64),
                cpu: Nanos::new((cpu(seconds) * 1e9) as u64),
                live: Bytes::new((live(seconds) * f64::from(1 << 20)) as u64),
                ..Sample::default()
            }
        };
        let process = Process { timeline: (0..=200).map(sample).collect(), ..Process::default() };
        let (stacks, axis) = (Stacks::default(), Axis::of(&process, None));
        let known = known_of(&process, &stacks);
        axis.over_work(&process).is_some_and(|work| known.is_even_over(&work, &axis))
    }

    #[test]
    fn growth_of_a_helper_is_judged_after_more_seconds() {
        let verdict = |is_helper: bool, seconds: u64| {
            let sample = |tick: u64| Sample {
                at: Nanos::new(tick * 100_000_000),
                live: Bytes::new(tick << 20),
                ..Sample::default()
            };
            let process =
                Process { timeline: (0..=10 * seconds).map(sample).collect(), ..Process::default() };
            let stacks = Stacks::default();
            diagnose(Known { is_helper, ..known_of(&process, &stacks) }).verdict
        };
        assert_eq!(verdict(false, 4), Some(Verdict::GrowthUnexplained));
        assert_eq!(verdict(true, 4), Some(Verdict::Clean));
        assert_eq!(verdict(true, 20), Some(Verdict::GrowthUnexplained));
    }

    /// All of a CPU in the first half of the run, a third of one in the other.
    fn slowed(seconds: f64) -> f64 {
        seconds.min(10.0) + (seconds - 10.0).max(0.0) / 3.0
    }

    /// A quarter of a CPU in a second of every five, else all of it.
    fn interrupted(seconds: f64) -> f64 {
        let (whole, rest) = ((seconds / 5.0).floor(), seconds % 5.0);
        4.25 * whole + rest.min(4.0) + (rest - 4.0).max(0.0) / 4.0
    }

    #[test]
    fn growth_that_a_busy_machine_makes_uneven_is_judged_by_the_programs_work() {
        assert!(by_work(slowed, |seconds| 5.0 * slowed(seconds)), "the same in every iteration");
        assert!(
            by_work(interrupted, |seconds| 5.0 * interrupted(seconds)),
            "its slope over time would be that of most seconds"
        );
        assert!(!by_work(slowed, |seconds| 5.0 * seconds), "even over time");
        assert!(!by_work(interrupted, |seconds| 5.0 * seconds), "even over time");
        assert!(
            !by_work(|seconds| seconds, |seconds| 5.0 * slowed(seconds)),
            "it does as much in every second"
        );
    }

    #[test]
    fn what_stopped_over_time_has_stopped() {
        assert!(!by_work(slowed, |seconds| 5.0 * seconds.min(8.0)));
        let loaded = |seconds: f64| seconds.min(8.0);
        assert!(!by_work(loaded, |seconds| 5.0 * seconds.min(8.0)), "it waits since then");
    }
}
