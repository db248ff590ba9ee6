//! What growth is counted by: the iterations of the main loop, else the marks that the user made, else the runs of a framework, else
//! seconds, at the moments that the recorder marked.

use heaplens_format::arena::marks::ENOUGH_ITERATIONS;
use heaplens_format::memory::Category;
use heaplens_format::recording::{Ledger, Mark, MarkKind, Process, ProcessEnd, Sample};
use heaplens_format::{Bytes, Nanos};

use super::series::{Point, Series, evenly};
use super::thresholds::LEAST_POINTS;
use super::work::WorkClock;
use crate::profile::{Iterations, quiet_since};

/// The most moments at which the values of sites are compared.
const MOST_MOMENTS: usize = 256;

/// The part of the run that moments must reach to.
const COVERED: f64 = 0.8;

/// The part of a run in which a program may give back what it has because it ends, of its time or, on a busy machine, of its work; and what is
/// left of that at most.
const ENDING: f64 = 0.1;
const ENDING_WHEN_BUSY: f64 = 0.25;
const GIVEN_BACK: f64 = 0.5;

/// What x counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// Iterations of the main loop.
    Loop,
    /// Marks of the user's own, or runs that a framework marked.
    Marks,
    /// Seconds.
    #[default]
    Time,
}

/// The moments that sites are known at, each with its x.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Axis {
    pub(crate) how: How,
    /// Iterations that were counted; 0 for seconds.
    pub(crate) count: u64,
    /// Whether the marks are runs that a framework marked.
    pub(crate) is_of_runs: bool,
    /// Readings before this second are not judged: a Python program imports its modules first.
    pub(crate) begin: f64,
    /// Nor are those after this one: what comes after the end of a script is Python's clean-up.
    pub(crate) end: Option<f64>,
    pub(crate) moments: Vec<AxisMark>,
    /// When the program began to give back what it had, since it was about to end; later readings say nothing about growth.
    pub(super) over: Option<Nanos>,
    /// Where seconds are those of the program's own work.
    pub(super) work: Option<WorkClock>,
}

/// A mark on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisMark {
    /// Its index among the marks of the process.
    pub(crate) mark: usize,
    pub(crate) x: f64,
    pub(crate) at: Nanos,
}

impl Axis {
    pub(crate) fn of(process: &Process, iterations: Option<&Iterations>) -> Self {
        let by_marks = || {
            let of_users = Self::by_number(process, users_number);
            let of_runs = || Self { is_of_runs: true, ..Self::by_number(process, runs_number) };
            of_users.filter_enough().unwrap_or_else(of_runs)
        };
        match iterations {
            Some(found) if found.count >= ENOUGH_ITERATIONS => Self::by_loop(process, found),
            Some(found) => by_marks().filter_enough().unwrap_or_else(|| Self::by_loop(process, found)),
            None => by_marks().filter_enough().unwrap_or_else(|| Self::by_time(process)),
        }
    }

    fn by_loop(process: &Process, found: &Iterations) -> Self {
        Self { count: found.count, ..Self::new(How::Loop, process, found.marks(process)) }
    }

    fn by_number(process: &Process, number: impl Fn(&MarkKind) -> Option<u64>) -> Self {
        let marks = process.marks.iter().enumerate();
        Self::new(How::Marks, process, marks.filter_map(|(index, mark)| Some((index, number(&mark.kind)?))))
    }

    fn new(how: How, process: &Process, numbered: impl Iterator<Item = (usize, u64)>) -> Self {
        let moment =
            |(mark, number): (usize, u64)| AxisMark { mark, x: number as f64, at: process.marks[mark].at };
        let moments: Vec<AxisMark> = numbered.map(moment).collect();
        let count = moments.last().map_or(0, |last| last.x as u64);
        Self { how, count, moments: thinned(moments), ..Self::default() }
    }

    fn by_time(process: &Process) -> Self {
        let (is_python, quiet, over) =
            (process.python.is_some(), quiet_since(process), over(&process.timeline, live_at_end(process)));
        let x = |mark: &Mark| Some(mark.at.get().checked_sub(process.start.get())? as f64 / 1e9);
        let is_meant =
            |mark: &Mark| is_of_time(mark, is_python, quiet) && over.is_none_or(|over| mark.at <= over);
        let marks = process.marks.iter().enumerate().filter(|(_, mark)| is_meant(mark));
        let moments =
            marks.filter_map(|(index, mark)| Some(AxisMark { mark: index, x: x(mark)?, at: mark.at }));
        let moments = thinned(moments.collect());
        let begin = moments.first().filter(|_| is_python).map_or(0.0, |first| first.x);
        let end = process.marks.iter().find(|mark| mark.kind == MarkKind::EndOfScript).and_then(x);
        Self { how: How::Time, begin, end, moments, over, ..Self::default() }
    }

    /// The same moments over the work that the program had done; `None` where it is not counted by seconds, or where its work is not known.
    pub(crate) fn over_work(&self, process: &Process) -> Option<Self> {
        let clock = WorkClock::of(process).filter(|_| self.how == How::Time)?;
        let moments = self.moments.iter().map(|moment| AxisMark { x: clock.at(moment.at), ..*moment });
        Some(Self { moments: moments.collect(), work: Some(clock), ..self.clone() })
    }

    /// Whether sites are known from moments all over the time that readings cover, and not of a part of it only.
    pub(crate) fn covers(&self, readings: &Series) -> bool {
        let first = readings.points().first().map_or(0.0, |point| point.x);
        let reaches = |last: &AxisMark| last.x - first >= COVERED * readings.length();
        self.moments.len() >= LEAST_POINTS && self.moments.last().is_some_and(reaches)
    }

    fn filter_enough(self) -> Option<Self> {
        Some(self).filter(|axis| axis.count >= ENOUGH_ITERATIONS)
    }

    /// How long an iteration took on average.
    pub(crate) fn seconds_per_iteration(&self) -> Option<f64> {
        let (first, last) = (self.moments.first()?, self.moments.last()?);
        let seconds = last.at.get().saturating_sub(first.at.get()) as f64 / 1e9;
        (last.x > first.x).then(|| seconds / (last.x - first.x))
    }

    /// A value of the time-line over x.
    pub(crate) fn timeline(&self, process: &Process, value: impl Fn(&Sample) -> u64) -> Series {
        self.readings(&process.timeline, process.start, value)
    }

    /// The same of some of its readings.
    pub(crate) fn readings(
        &self,
        samples: &[Sample],
        start: Nanos,
        value: impl Fn(&Sample) -> u64,
    ) -> Series {
        let points = samples
            .iter()
            .filter_map(|sample| Some(Point { x: self.x_at(sample.at, start)?, y: value(sample) as f64 }));
        Series::new(points.collect())
    }

    /// A value of the ledgers over x.
    pub(crate) fn ledgers(&self, process: &Process, value: impl Fn(&Ledger) -> Bytes) -> Series {
        self.some_ledgers(&process.ledgers, process.start, value)
    }

    /// The same of some ledgers.
    pub(crate) fn some_ledgers(
        &self,
        ledgers: &[Ledger],
        start: Nanos,
        value: impl Fn(&Ledger) -> Bytes,
    ) -> Series {
        let points = ledgers.iter().filter_map(|ledger| {
            Some(Point { x: self.x_at(ledger.at, start)?, y: value(ledger).get() as f64 })
        });
        Series::new(points.collect())
    }

    /// Where a moment of time lies, or the mark that is nearest to it.
    pub(crate) fn x_near(&self, at: Nanos, start: Nanos) -> f64 {
        let is_before = self.moments.first().is_some_and(|first| at < first.at);
        let nearest = if is_before { self.moments.first() } else { self.moments.last() };
        self.x_at(at, start).unwrap_or_else(|| nearest.map_or(0.0, |moment| moment.x))
    }

    /// Where a moment of time lies; `None` before the first mark and after the last.
    pub(crate) fn x_at(&self, at: Nanos, start: Nanos) -> Option<f64> {
        if self.over.is_some_and(|over| at > over) {
            return None;
        }
        if self.how == How::Time {
            let x = at.get().checked_sub(start.get())? as f64 / 1e9;
            let is_judged = x >= self.begin && self.end.is_none_or(|end| x <= end);
            return is_judged.then(|| self.work.as_ref().map_or(x, |clock| clock.at(at)));
        }
        let next = self.moments.partition_point(|moment| moment.at <= at);
        let (before, after) = (self.moments.get(next.checked_sub(1)?)?, self.moments.get(next)?);
        let part = (at.get() - before.at.get()) as f64 / (after.at.get() - before.at.get()) as f64;
        Some(before.x + part * (after.x - before.x))
    }
}

/// The reading with the most live bytes, where the program gave most of them back in what is left of its run, and that is little: it frees what it
/// has because it ends, as destructors do when `main` returns.
///
/// What is live at the end counts if it is known: the last reading may be of a moment at which the program had given back a part of it.
fn over(timeline: &[Sample], at_end: Option<Bytes>) -> Option<Nanos> {
    let live = |sample: &Sample| sample.live.get() as f64;
    let (first, last) = (timeline.first()?, timeline.last()?);
    let most = timeline.iter().rev().max_by_key(|sample| sample.live)?;
    let part = |value: fn(&Sample) -> Nanos| {
        let between = |from: &Sample, to: &Sample| value(to).get().saturating_sub(value(from).get()) as f64;
        between(most, last) / between(first, last)
    };
    let (of_time, of_work) = (part(|sample| sample.at), part(|sample| sample.cpu));
    let is_end = of_time <= ENDING || of_work <= ENDING && of_time <= ENDING_WHEN_BUSY;
    let left = at_end.map_or(live(last), |at_end| live(last).min(at_end.get() as f64));
    (is_end && left < GIVEN_BACK * live(most)).then_some(most.at)
}

/// What a native process that exited had not freed. An interpreter frees the program's objects at exit, whether the program has grown or not.
fn live_at_end(process: &Process) -> Option<Bytes> {
    let is_known = matches!(process.end, ProcessEnd::Ended(_)) && process.python.is_none();
    let heap = process.sites.iter().filter(|site| site.kind.category() == Category::Heap);
    is_known.then(|| heap.map(|site| site.live.bytes).sum())
}

/// Whether a mark is a moment for growth per second. The recorder marks a Python program while that is quiet; what it does between two such
/// stretches has marks of its own.
fn is_of_time(mark: &Mark, is_python: bool, quiet_since: Option<Nanos>) -> bool {
    match mark.kind {
        MarkKind::Interval if !is_python => true,
        MarkKind::Interval | MarkKind::Iteration { .. } | MarkKind::User { .. } | MarkKind::Run { .. } => {
            is_python && quiet_since.is_some_and(|since| mark.at >= since)
        }
        MarkKind::EndOfScript | MarkKind::Test { .. } | MarkKind::Section { .. } => false,
    }
}

/// Every site has a value at each of them: hundreds of thousands of sites shall fit in memory.
fn thinned(moments: Vec<AxisMark>) -> Vec<AxisMark> {
    if moments.len() <= MOST_MOMENTS {
        return moments;
    }
    let xs: Vec<Point> = moments.iter().map(|moment| Point { x: moment.x, y: 0.0 }).collect();
    evenly(&xs, MOST_MOMENTS).into_iter().map(|at| moments[at]).collect()
}

fn users_number(kind: &MarkKind) -> Option<u64> {
    match kind {
        MarkKind::User { number, .. } => Some(*number),
        _ => None,
    }
}

fn runs_number(kind: &MarkKind) -> Option<u64> {
    match kind {
        MarkKind::Run { number } => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
impl Axis {
    /// Of so many iterations with a mark each.
    pub(crate) fn of_marks(count: usize) -> Self {
        let mark = |at: usize| AxisMark { mark: at, x: at as f64, at: Nanos::new(at as u64) };
        Self {
            how: How::Loop,
            count: count as u64,
            moments: (0..count).map(mark).collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::LoopId;
    use heaplens_format::recording::{Interpreter, Reading};

    fn mark(at: u64, kind: MarkKind) -> Mark {
        Mark { at: Nanos::new(at), live: Bytes::ZERO, kind }
    }

    fn iteration(at: u64, of_loop: u32, iterations: u64) -> Mark {
        mark(at, MarkKind::Iteration { of_loop: LoopId::new(of_loop), iterations })
    }

    fn users(at: u64, number: u64) -> Mark {
        mark(at, MarkKind::User { number, label: String::new() })
    }

    fn iterations(count: u64) -> Iterations {
        Iterations {
            of_loops: vec![LoopId::new(1)],
            count,
            of_loop: count,
            is_exact: true,
            file: "a".into(),
            line: 1,
            function: "f".into(),
            steps: None,
        }
    }

    fn with_marks(marks: Vec<Mark>) -> Process {
        Process { marks, ..Process::default() }
    }

    #[test]
    fn iterations_of_the_main_loop_come_before_marks_and_these_before_a_loop_with_few_iterations() {
        let marks: Vec<Mark> = (1..=30)
            .flat_map(|n| [users(10 * n, n), iteration(10 * n + 5, 1, n), iteration(10 * n + 6, 2, n)])
            .collect();
        let process = with_marks(marks);
        let axis = Axis::of(&process, Some(&iterations(30)));
        assert_eq!((axis.how, axis.count, axis.moments.len()), (How::Loop, 30, 30));
        assert_eq!(Axis::of(&process, Some(&iterations(5))).how, How::Marks);
        assert_eq!(Axis::of(&process, None).how, How::Marks);
        assert_eq!(Axis::of(&with_marks(vec![users(1, 1)]), None).how, How::Time);
    }

    #[test]
    fn iterations_of_all_threads_add_up() {
        let marks = vec![iteration(10, 1, 1), iteration(20, 3, 1), iteration(30, 1, 2), iteration(40, 3, 5)];
        let found = Iterations { of_loops: vec![LoopId::new(1), LoopId::new(3)], ..iterations(30) };
        let axis = Axis::of(&with_marks(marks), Some(&found));
        let xs: Vec<f64> = axis.moments.iter().map(|moment| moment.x).collect();
        assert_eq!(xs, [1.0, 2.0, 3.0, 7.0]);
    }

    #[test]
    fn without_any_the_moments_are_those_that_the_recorder_marked() {
        let second = 1_000_000_000;
        let intervals = (1..=30).map(|n| mark((10 + n) * second, MarkKind::Interval));
        let marks = std::iter::once(users(12 * second, 1)).chain(intervals).collect();
        let process = Process { start: Nanos::new(10 * second), ..with_marks(marks) };
        let axis = Axis::of(&process, None);
        let first = axis.moments[0];
        assert_eq!((axis.how, axis.moments.len(), first.mark, first.x), (How::Time, 30, 1, 1.0));
        let until = |x: u32| Series::new((0..=x).map(|x| Point { x: f64::from(x), y: 0.0 }).collect());
        assert!(axis.covers(&until(35)), "most of the run");
        assert!(!axis.covers(&until(40)), "the last quarter is missing");
    }

    #[test]
    fn what_a_program_frees_because_it_ends_is_no_part_of_its_time() {
        let second = 1_000_000_000;
        let axis = |live: &dyn Fn(u64) -> u64| {
            let sample =
                |at| Sample { at: Nanos::new(at * second), live: Bytes::new(live(at)), ..Sample::default() };
            let marks = (0..=40).map(|at| mark(at * second, MarkKind::Interval)).collect();
            let process = Process { timeline: (0..=40).map(sample).collect(), ..with_marks(marks) };
            let axis = Axis::of(&process, None);
            (axis.moments.len(), axis.timeline(&process, |sample| sample.live.get()).points().len())
        };
        assert_eq!(axis(&|at| if at > 37 { 5 } else { 100 * at }), (38, 38), "freed at the end");
        assert_eq!(axis(&|at| 100 * at), (41, 41), "it goes on until the end");
        assert_eq!(
            axis(&|at| if at > 30 { 5 } else { 100 * at }),
            (41, 41),
            "freed, and then it ran for long"
        );
        assert_eq!(axis(&|at| if at > 37 { 3000 } else { 100 * at }), (41, 41), "a little of it");
    }

    #[test]
    fn on_a_busy_machine_the_end_of_a_program_may_take_longer() {
        let second = 1_000_000_000;
        let over = |cpu: &dyn Fn(u64) -> u64| {
            let sample = |at| Sample {
                at: Nanos::new(at * second),
                live: Bytes::new(if at > 32 { 5 } else { 100 * at }),
                cpu: Nanos::new(cpu(at) * second / 10),
                ..Sample::default()
            };
            over(&(0..=40).map(sample).collect::<Vec<_>>(), None)
        };
        assert_eq!(over(&|at| at.min(33)), Some(Nanos::new(32 * second)), "it hardly ran then");
        assert_eq!(over(&|at| at), None, "it did something else then");
        assert_eq!(over(&|_| 0), None, "not known");
    }

    #[test]
    fn what_is_left_at_the_end_counts_where_the_last_reading_came_before_it() {
        let live = |at: u64| if at == 40 { 2500 } else { 100 * at };
        let sample = |at: u64| Sample { at: Nanos::new(at), live: Bytes::new(live(at)), ..Sample::default() };
        let timeline: Vec<Sample> = (0..=40).map(sample).collect();
        assert_eq!(over(&timeline, None), None, "more than half is left");
        assert_eq!(over(&timeline, Some(Bytes::new(2400))), None, "and stays");
        assert_eq!(over(&timeline, Some(Bytes::ZERO)), Some(Nanos::new(39)));
    }

    #[test]
    fn a_script_is_judged_from_when_the_recorder_found_it_quiet() {
        let second = 1_000_000_000;
        let python = Some(Interpreter { reading: Reading::Frames, major: 3, minor: 12 });
        let interval = |at: u64| mark(at * second, MarkKind::Interval);
        let quiet = (9..=20).chain(30..=40).map(interval);
        let busy = (21..30).map(|at| iteration(at * second, 1, 2));
        let early = [interval(0), iteration(5 * second, 1, 1)];
        let mut marks: Vec<Mark> = early.into_iter().chain(quiet).chain(busy).collect();
        marks.sort_by_key(|mark| mark.at);
        marks.push(mark(41 * second, MarkKind::EndOfScript));
        let timeline = (0..=45).map(|at| Sample { at: Nanos::new(at * second), ..Sample::default() });
        let process = Process { python, timeline: timeline.collect(), ..with_marks(marks) };
        let axis = Axis::of(&process, None);
        assert_eq!((axis.how, axis.begin, axis.moments.len()), (How::Time, 9.0, 32));
        let readings = axis.timeline(&process, |_| 0);
        assert_eq!((readings.points()[0].x, readings.length()), (9.0, 32.0));
        assert!(axis.covers(&readings));
    }

    #[test]
    fn readings_between_marks_lie_between_their_numbers() {
        let sample = |at| Sample { at: Nanos::new(at), rss: Bytes::new(at), ..Sample::default() };
        let timeline = [50, 100, 150, 200, 250, 290, 400].map(sample).to_vec();
        let process =
            Process { timeline, ..with_marks((1..=30).map(|n| users(100 * n, 2 * n)).take(3).collect()) };
        let axis = Axis::by_number(&process, users_number);
        let series = axis.timeline(&process, |sample| sample.rss.get());
        let found: Vec<(f64, f64)> = series.points().iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(found, [(2.0, 100.0), (3.0, 150.0), (4.0, 200.0), (5.0, 250.0), (5.8, 290.0)]);
    }
}
