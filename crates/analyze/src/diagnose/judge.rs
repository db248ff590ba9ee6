//! What grows, how fast, and whether it stops: for every line that allocates, for the layers, and for resident memory. Judged
//! by the values that sites had at marks; in a program that makes none per second, by those at moments of the recorder's, and
//! by the readings of the time-line.

use heaplens_format::Bytes;
use heaplens_format::arena::marks::ENOUGH_PASSES;
use heaplens_format::memory::{Line, Sampling, SiteKind, Space, Tables};
use heaplens_format::recording::{Ledger, Process};
use rustc_hash::FxHashMap;

use super::causes::Cause;
use super::findings::{self, Finding};
use super::growing_sites::{self, Places};
use super::mappings;
use super::reclaim_test::Returned;
use super::rule::Evidence;
use super::rules;
use super::rules::warm_up::{self, Plateau};
use super::thread_growth::Crowd;
use super::verdict::{self, Grounds, Verdict};
use crate::profile::{Category, Iterations, Layer, Measure, SiteProfile, StackId, Stacks};
use crate::trend::{
    Axis, Demands, How, LEAST_POINTS, Moment, Point, Series, Shape, Slope, Slowing, Trend, of_ledgers,
    slowing, trend,
};

/// The growth of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    /// What it is told per.
    pub how: How,
    /// Iterations that it was judged by; 0 for seconds.
    pub count: u64,
    /// What iterations are called where they are runs that a framework marked.
    pub runs: Option<&'static str>,
    /// How long an iteration took on average; `None` where growth is told per second.
    pub seconds_per_iteration: Option<f64>,
    /// Iterations that would be enough, where these were too few.
    pub enough: Option<u64>,
    /// Resident memory; `None` where there are no readings.
    pub rss: Option<Trend>,
    /// Live bytes of the heap.
    pub live: Option<Trend>,
    /// Layers, by the sum of their sites.
    pub layers: Vec<(Layer, Trend)>,
    /// Lines of the ledgers, by their spaces.
    pub ledger: Vec<(Space, Line, Trend)>,
    /// Iterations that become slower.
    pub slowing: Option<Slowing>,
    /// Lines whose bytes changed enough to be judged.
    pub lines: usize,
    /// What grows.
    pub findings: Vec<Finding>,
    /// The word; `None` where nothing was recorded.
    pub verdict: Option<Verdict>,
    /// The line that keeps most of what rose and stands; `None` where no such line is known.
    pub plateau: Option<Plateau>,
    slopes: FxHashMap<(StackId, SiteKind), f64>,
}

impl Growth {
    /// Bytes per iteration, or per second, that the process grows by: of resident memory where it grows steadily, else of what
    /// the findings say together. Whichever is more: memory that is not touched yet is kept all the same.
    pub fn pace(&self) -> f64 {
        let resident =
            self.rss.filter(|trend| trend.shape == Shape::Linear).map_or(0.0, |trend| trend.slope.value);
        let found = self.findings.iter().filter(|finding| finding.leader.is_some());
        resident.max(found.map(|finding| finding.trend.slope.value).sum())
    }

    /// Bytes per iteration of lines of a space's ledger together; `None` where there were too few ledgers to tell.
    pub fn of_ledger(&self, space: Space, lines: &[Line]) -> Option<f64> {
        let own = self.ledger.iter().filter(|(of, line, _)| *of == space && lines.contains(line));
        let paces: Vec<Option<f64>> = own.map(|(.., trend)| trend.pace()).collect();
        if paces.is_empty() { None } else { paces.into_iter().sum() }
    }

    /// Bytes per iteration of a site; `None` where that is not known.
    pub fn of_site(&self, site: &SiteProfile) -> Option<f64> {
        (self.how != How::Time).then(|| self.slopes.get(&(site.stack, site.kind)).copied().unwrap_or(0.0))
    }
}

/// Bytes that a rise must have to matter at all, for a line; or a two-thousandth of what is resident.
pub(crate) const LEAST_OF_LINE: f64 = 4096.0;
/// The same for resident memory, which moves by itself; or a hundredth of it.
const LEAST_OF_WHOLE: f64 = (1 << 20) as f64;
/// Bytes that a rise that stopped must have to be worth a word; or a hundredth of what is resident.
pub(crate) const LEAST_TO_STOP: f64 = 65_536.0;
/// How long a program must run for its growth per second to be believed. A script without a loop does one thing after the
/// other, imports first: only a long one can be a server.
const LEAST_SECONDS: f64 = 1.0;
const LEAST_SECONDS_OF_SCRIPT: f64 = 60.0;

/// The part of a line's growth that others may give up at the same time.
const TAKEN_OVER: f64 = 0.5;

pub(crate) const OF_ITERATIONS: Demands = Demands {
    least_rise: LEAST_OF_LINE,
    grain: 0.0,
    most_uneven: 0.2,
    least_rises: 4.0,
    least_points: LEAST_POINTS,
};
/// A program that reads its input once grows, too: per second only what is very even is believed.
const OF_SECONDS: Demands =
    Demands { least_rise: LEAST_OF_WHOLE, most_uneven: 0.1, least_rises: 10.0, ..OF_ITERATIONS };

/// The part of the growth by readings that ledgers must see.
const BELIEVED: f64 = 0.75;

/// A trend of resident memory with the pace that was counted.
fn slower(found: &Trend, pace: f64, demands: Demands) -> Trend {
    let part = (pace / found.slope.value).max(0.0);
    let Slope { value, low, high } = found.slope;
    let rise = part * found.rise;
    Trend {
        shape: if rise < demands.least_rise { Shape::Flat } else { found.shape },
        slope: Slope { value: part * value, low: part * low, high: part * high },
        rise,
        ..*found
    }
}

/// What is known about a process before its growth.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) process: &'a Process,
    pub(crate) stacks: &'a Stacks,
    pub(crate) sites: &'a [SiteProfile],
    pub(crate) iterations: Option<&'a Iterations>,
    /// Mean distance of samples of the heap.
    pub(crate) heap_interval: Option<Bytes>,
    /// And of small Python objects.
    pub(crate) object_interval: Option<Bytes>,
    /// Resident bytes that the allocator gave back when it was asked.
    pub(crate) trimmed: Option<Bytes>,
    /// The tables that lines of ledgers are rows of.
    pub(crate) tables: Tables,
}

/// Judges a process.
pub(crate) fn growth(known: Known<'_>) -> Growth {
    let axis = Axis::of(known.process, known.iterations);
    match axis.how {
        How::Loop | How::Marks => known.per_iteration(&axis),
        How::Time => known.per_second(&axis),
    }
}

impl Known<'_> {
    fn per_iteration(self, axis: &Axis) -> Growth {
        let demands = Demands { least_rise: LEAST_OF_LINE.max(self.resident() / 2000.0), ..OF_ITERATIONS };
        let mut causes = Cause::all(self, axis);
        let places = self.places(axis, demands, &mut causes);
        let crowd = Crowd { process: self.process, axis, demands: OF_ITERATIONS };
        let lines = findings::lines(&places, &causes, crowd, demands);
        let rss = self.of_rss(axis, OF_ITERATIONS);
        let live = trend(&self.live_at(axis), demands);
        let has_threads = lines.iter().any(findings::Line::starts_threads);
        let others = if has_threads { None } else { self.more_threads(crowd) };
        let others = (others, self.growing_mappings(axis, OF_ITERATIONS, rss.as_ref()));
        let mut findings = findings::of_lines(&lines, others, rss.as_ref(), self.sites, axis);
        let returned = Returned::of(self, axis, live.level, self.live_at(axis).length());
        self.review(&returned, rss.as_ref(), &mut findings);
        let stops = |trend: &Trend| verdict::is_stopped(trend.shape) && trend.rise >= self.least_to_stop();
        let stopped = lines.iter().any(|line| stops(line.trend())) || rss.as_ref().is_some_and(stops);
        // Passes that make no mark allocate nothing: many passes with few marks are not too few.
        let is_few = axis.count < ENOUGH_PASSES && axis.moments.len() < LEAST_POINTS;
        let too_short = is_few && self.rose(axis);
        Growth {
            how: axis.how,
            count: axis.count,
            runs: axis.runs,
            seconds_per_iteration: axis.seconds_per_iteration(),
            enough: too_short.then_some(ENOUGH_PASSES),
            rss,
            live: Some(live),
            layers: self.layers(&places, axis, demands),
            ledger: self.lines_of_ledger(axis, OF_ITERATIONS),
            slowing: slowing(axis),
            lines: places.lines.len(),
            plateau: warm_up::plateau(&lines, self.least_to_stop()),
            verdict: Some(verdict::verdict(&findings, Grounds { stopped, too_short })),
            findings,
            slopes: places.slopes,
        }
    }

    fn places<'p>(self, axis: &Axis, demands: Demands, causes: &mut Vec<Cause<'p>>) -> Places<'p>
    where
        Self: 'p,
    {
        let grain = |kind| self.grain(kind);
        Places::of(self.process, self.stacks, self.sites, (axis, demands), grain, causes)
    }

    /// All layers that have sites; those that did not change are flat.
    fn layers(self, places: &Places<'_>, axis: &Axis, demands: Demands) -> Vec<(Layer, Trend)> {
        let mut layers: Vec<Layer> = self.sites.iter().map(|site| site.layer).collect();
        layers.sort_unstable();
        layers.dedup();
        let trend_of = |layer: Layer| {
            let changed = places.layers.iter().find(|(changed, _)| *changed == layer);
            changed.map_or(Trend::FLAT, |(_, sum)| sum.trend(axis, demands))
        };
        layers.into_iter().map(|layer| (layer, trend_of(layer))).collect()
    }

    fn per_second(self, axis: &Axis) -> Growth {
        let rss = self.of_rss(axis, OF_SECONDS);
        let live_series = axis.timeline(self.process, |sample| sample.live.get());
        let least = if self.process.python.is_some() { LEAST_SECONDS_OF_SCRIPT } else { LEAST_SECONDS };
        let is_long = live_series.length() >= least;
        let of_live = Demands { least_rise: LEAST_TO_STOP, ..OF_SECONDS };
        let live = Some(trend(&live_series, of_live)).filter(|_| live_series.points().len() > 1);
        let grows = |trend: &Option<Trend>| trend.filter(|trend| is_long && trend.shape == Shape::Linear);
        let crowd = Crowd { process: self.process, axis, demands: OF_SECONDS };
        let mut findings = if is_long && axis.covers(&live_series) {
            self.lines_per_second(crowd, rss.as_ref(), grows(&rss).or(grows(&live)))
        } else {
            let threads = if is_long { self.more_threads(crowd) } else { None };
            let of_heap =
                grows(&live).map(|trend| findings::of_seconds(trend, &self.held_by_lines(), self.sites));
            let mappings =
                if is_long { self.growing_mappings(axis, OF_SECONDS, rss.as_ref()) } else { Vec::new() };
            findings::together(threads, of_heap, mappings, grows(&rss))
        };
        let returned = Returned::of(self, axis, live_series.last(), live_series.length());
        self.review(&returned, rss.as_ref(), &mut findings);
        // What a short program gave back before its end did not grow, whatever a reading in between says.
        let stands = live.is_some_and(|trend| matches!(trend.shape, Shape::Flat | Shape::Plateau));
        let too_short = !is_long && self.process.python.is_none() && !stands && self.kept() >= LEAST_OF_WHOLE;
        let stopped = is_long && live.iter().chain(&rss).any(|trend| trend.shape == Shape::Plateau);
        Growth {
            enough: too_short.then_some(least as u64),
            ledger: self.lines_of_ledger(axis, OF_SECONDS),
            rss,
            live,
            verdict: Some(verdict::verdict(&findings, Grounds { stopped, too_short })),
            findings,
            ..Growth::default()
        }
    }

    /// What lines grow by, where their values over time are known; `whole` is the growth of the program as a whole.
    fn lines_per_second(self, crowd: Crowd<'_>, rss: Option<&Trend>, whole: Option<Trend>) -> Vec<Finding> {
        let axis = crowd.axis;
        let demands = Demands { least_rise: LEAST_TO_STOP.max(self.resident() / 2000.0), ..OF_SECONDS };
        let places = self.places(axis, demands, &mut Vec::new());
        let mut lines = findings::lines(&places, &[], crowd, demands);
        // What one line takes over from others, while the heap stays as it is, is no growth.
        let given_up = findings::given_up(&places, axis, demands);
        let is_its_own = |line: &findings::Line<'_>| given_up <= TAKEN_OVER * line.trend().slope.value;
        lines.retain(|line| line.starts_threads() || is_its_own(line));
        let has_threads = lines.iter().any(findings::Line::starts_threads);
        let threads = if has_threads { None } else { self.more_threads(crowd) };
        let others = (threads, self.growing_mappings(axis, OF_SECONDS, rss));
        findings::of_lines(&lines, others, whole.as_ref(), self.sites, axis)
    }

    /// Lets rules look at all findings, as far as what they read was recorded.
    fn review(self, returned: &Returned, rss: Option<&Trend>, findings: &mut Vec<Finding>) {
        let evidence = Evidence { known: self, returned, rss, resident: self.resident() };
        let asked = rules::all().iter().filter(|rule| rule.can_judge(self));
        asked.filter_map(|rule| rule.review).for_each(|review| review(&evidence, findings));
    }

    /// Threads whose number grows by the time-line, or whose stacks do by the ledgers.
    fn more_threads(self, crowd: Crowd<'_>) -> Option<Finding> {
        let running = crowd.running();
        let starter = growing_sites::most_threads(self.stacks, self.sites);
        let running = crowd.growing(&running).map(|counts| (counts, crowd.bytes_of_one(&running)));
        let left = starter.as_ref().map_or(0, |(_, _, left)| *left);
        let (counts, one) = running.or_else(|| crowd.by_ledgers(left))?;
        Some(findings::of_threads(crowd, &counts, one, starter, self.sites))
    }

    /// What each line of the ledgers does; nothing where none was taken.
    fn lines_of_ledger(self, axis: &Axis, demands: Demands) -> Vec<(Space, Line, Trend)> {
        let demands = of_ledgers(Demands { least_rise: self.least_to_stop(), ..demands });
        let trends = |space: Space, ledgers: &[Ledger]| -> Vec<(Space, Line, Trend)> {
            let lines = self.tables.lines_of(space.kind).filter(|_| !ledgers.is_empty());
            let of = |line| axis.some_ledgers(ledgers, self.process.start, |ledger| ledger.line(line));
            lines.map(|row| (space, row.line, trend(&of(row.line), demands))).collect()
        };
        let others = self.process.spaces.iter().flat_map(|one| trends(one.space, &one.ledgers));
        trends(Space::HOST, &self.process.ledgers).into_iter().chain(others).collect()
    }

    /// Mappings that grow by the ledgers. Readings of resident memory are more than ledgers are, and know better.
    fn growing_mappings(self, axis: &Axis, demands: Demands, rss: Option<&Trend>) -> Vec<Finding> {
        if rss.is_some_and(|rss| matches!(rss.shape, Shape::Flat | Shape::Plateau)) {
            return Vec::new();
        }
        let demands = Demands { least_rise: self.least_of_whole(), ..demands };
        let growing = mappings::growing(self, axis, demands, rss);
        growing.into_iter().map(|mapping| findings::of_mapping(mapping, self.sites)).collect()
    }

    fn of_rss(self, axis: &Axis, demands: Demands) -> Option<Trend> {
        let series = axis.timeline(self.process, |sample| sample.rss.get());
        let demands = Demands { least_rise: self.least_of_whole(), ..demands };
        let found = (!self.process.timeline.is_empty()).then(|| trend(&series, demands))?;
        Some(match self.counted_pace(axis, series.length()) {
            Some(pace) if pace < BELIEVED * found.slope.low => slower(&found, pace, demands),
            _ => found,
        })
    }

    /// How fast the program's resident memory grew from the first ledger to the last, where they cover most of the series.
    /// Readings leave out an estimate of our own memory, which grows with threads; ledgers leave out what they counted.
    fn counted_pace(self, axis: &Axis, length: f64) -> Option<f64> {
        let counted = axis.ledgers(self.process, Ledger::program);
        let (points, covered) = (counted.points(), counted.length());
        let (first, last) = (points.first()?, points.last()?);
        (covered > 0.5 * length).then(|| (last.y - first.y) / covered)
    }

    fn least_of_whole(self) -> f64 {
        LEAST_OF_WHOLE.max(self.resident() / 100.0)
    }

    fn live_at(self, axis: &Axis) -> Series {
        let live = |moment: &Moment| self.process.marks[moment.mark].live.get() as f64;
        let points = axis.moments.iter().map(|moment| Point { x: moment.x, y: live(moment) });
        Series::new(points.collect())
    }

    /// Whether the heap rose by what matters, from the first mark to the last.
    fn rose(self, axis: &Axis) -> bool {
        let series = self.live_at(axis);
        let first = series.points().first().map_or(0.0, |point| point.y);
        series.last() - first >= self.least_to_stop()
    }

    /// Live bytes of the heap at the end.
    fn kept(self) -> f64 {
        let heap = self.sites.iter().filter(|site| site.category() == Category::Heap);
        heap.map(|site| site.held.bytes.get() as f64).sum()
    }

    fn resident(self) -> f64 {
        self.process.rss.map_or(0.0, |rss| rss.peak.get() as f64)
    }

    fn least_to_stop(self) -> f64 {
        LEAST_TO_STOP.max(self.resident() / 100.0)
    }

    fn grain(self, kind: SiteKind) -> f64 {
        let interval = match kind.category().row().sampling {
            Sampling::Heap => self.heap_interval,
            Sampling::Objects => self.object_interval,
            Sampling::Never => None,
        };
        interval.map_or(0.0, |interval| interval.get() as f64)
    }

    /// What lines of the heap hold at the end, each with its heaviest site and all of them.
    fn held_by_lines(self) -> Vec<(Measure, usize, Vec<usize>)> {
        growing_sites::held_by_lines(self.stacks, self.sites)
    }
}
