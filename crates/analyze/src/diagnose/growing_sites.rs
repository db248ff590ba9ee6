//! The series of sites and of the lines that they are named by. A line is the user's own that is nearest to the allocation;
//! all that it holds, in whatever layer, is one.

use heaplens_format::recording::{Amount, History, Process, SiteKind};
use rustc_hash::FxHashMap;

use super::causes::{self, Cause};
use crate::profile::{
    Category, Layer, Measure, SiteProfile, StackFrame, StackId, Stacks, is_python_pool, site_numbers,
    thread_start,
};
use crate::trend::{Axis, Moment};
use crate::trend::{Demands, Shape, Trend, trend};
use crate::trend::{Point, Series};

/// What a site had at each moment of the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Course {
    bytes: Vec<f64>,
    blocks: Vec<f64>,
}

impl Course {
    fn add(&mut self, other: &Self) {
        let add = |to: &mut Vec<f64>, from: &[f64]| {
            to.resize(to.len().max(from.len()), 0.0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.bytes, &other.bytes);
        add(&mut self.blocks, &other.blocks);
    }

    /// Bytes that it has more at the last moment than at the first.
    pub(crate) fn changed(&self) -> f64 {
        changed(&self.bytes)
    }

    /// The same of blocks.
    pub(crate) fn changed_blocks(&self) -> f64 {
        changed(&self.blocks)
    }

    pub(super) fn bytes(&self, axis: &Axis) -> Series {
        series(axis, &self.bytes)
    }

    pub(super) fn blocks(&self, axis: &Axis) -> Series {
        series(axis, &self.blocks)
    }
}

fn changed(values: &[f64]) -> f64 {
    let change = |last: f64| last - values.first().copied().unwrap_or(0.0);
    values.last().copied().map_or(0.0, change)
}

fn series(axis: &Axis, values: &[f64]) -> Series {
    let points = axis.moments.iter().zip(values).map(|(moment, &y)| Point { x: moment.x, y });
    Series::new(points.collect())
}

/// Bytes that a site must rise by to give a cause away.
const LEAST_SHOWN: f64 = 512.0;

/// What is known of all sites together that one line is named for, or that one layer has.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) course: Course,
    /// Their indices in the profile.
    pub(super) sites: Vec<usize>,
    /// Rises, each times the bytes that a sample of it stands for.
    weighted: f64,
    rises: f64,
    /// The site that rose most, and by how much.
    most: Option<(usize, f64)>,
}

impl Sum {
    pub(super) fn add(&mut self, site: usize, course: &Course, grain: f64) {
        let rise = course.changed();
        self.course.add(course);
        self.sites.push(site);
        self.weighted += grain * rise.max(0.0);
        self.rises += rise.max(0.0);
        if self.most.is_none_or(|(_, most)| rise > most) {
            self.most = Some((site, rise));
        }
    }

    /// The site that rose most.
    pub(super) fn leader(&self) -> Option<usize> {
        self.most.map(|(site, _)| site)
    }

    /// Bytes that one sample stands for, on average over the rise.
    pub(super) fn grain(&self) -> f64 {
        if self.rises > 0.0 { self.weighted / self.rises } else { 0.0 }
    }

    pub(super) fn trend(&self, axis: &Axis, demands: Demands) -> Trend {
        trend(&self.course.bytes(axis), Demands { grain: self.grain(), ..demands })
    }
}

/// What tells one line from another: function, file and line, or the address where these are not known.
pub(super) type Key<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>, Option<&'a str>, u64);

pub(super) fn key(frame: &StackFrame) -> Key<'_> {
    let offset = if frame.function.is_some() { 0 } else { frame.offset };
    (frame.function.as_deref(), frame.file.as_deref(), frame.line, frame.module.as_deref(), offset)
}

/// All sites that changed while the axis ran, by line and by layer, and how fast each grows.
#[derive(Debug, Default)]
pub(super) struct Places<'a> {
    pub(super) lines: FxHashMap<Option<Key<'a>>, Sum>,
    /// Of lines that start threads, the blocks that stand for one thread each.
    pub(super) threads: FxHashMap<Option<Key<'a>>, Course>,
    pub(super) layers: Vec<(Layer, Sum)>,
    pub(super) slopes: FxHashMap<(StackId, SiteKind), f64>,
}

impl<'a> Places<'a> {
    pub(super) fn of(
        process: &Process,
        stacks: &'a Stacks,
        sites: &[SiteProfile],
        (axis, demands): (&Axis, Demands),
        grain: impl Fn(SiteKind) -> f64,
        causes: &mut Vec<Cause<'a>>,
    ) -> Self {
        let mut places = Self::default();
        let histories = histories(process, stacks, sites);
        // One after the other, and some twice: all of them together take more memory than anything else does.
        let by_site = || histories.chunk_by(|one, other| one.site == other.site);
        let exact = demands.of_exact(LEAST_SHOWN);
        let shown = by_site().filter(|parts| rise(parts, axis) > LEAST_SHOWN).filter_map(|parts| {
            let shown = causes::shown_by(stacks, sites[parts[0].site].stack)?;
            (trend(&course_of(parts, axis).bytes(axis), exact).shape == Shape::Linear).then_some(shown)
        });
        causes::add_shown(causes, process, stacks, shown.collect());
        for parts in by_site() {
            let (at, course) = (parts[0].site, course_of(parts, axis));
            let site = &sites[at];
            let own = Demands { grain: grain(site.kind), ..demands };
            places.slopes.insert((site.stack, site.kind), slope_of(&course, axis, own));
            if is_python_pool(site, stacks) {
                continue;
            }
            let line = stacks.line(site.stack).map(key);
            let rise = (at, course.changed());
            let mut cause = causes::claim(causes, stacks, (line, site.stack), rise);
            let sum = match &mut cause {
                Some(cause) => {
                    cause.note_parts(stacks, site.stack, &course);
                    &mut cause.sum
                }
                None => places.lines.entry(line).or_default(),
            };
            sum.add(at, &course, own.grain);
            if own.grain == 0.0 && starts_thread(site, stacks) {
                let threads = match cause {
                    Some(cause) => &mut cause.threads,
                    None => places.threads.entry(line).or_default(),
                };
                threads.add(&course);
            }
            places.layer(site.layer).add(at, &course, own.grain);
        }
        places
    }

    /// Blocks that stand for one thread each, of all lines and causes.
    pub(super) fn all_threads(&self, causes: &[Cause<'_>]) -> Course {
        let mut all = Course::default();
        let of_causes = causes.iter().map(|cause| &cause.threads);
        self.threads.values().chain(of_causes).for_each(|course| all.add(course));
        all
    }

    fn layer(&mut self, layer: Layer) -> &mut Sum {
        let at = self.layers.iter().position(|(known, _)| *known == layer).unwrap_or_else(|| {
            self.layers.push((layer, Sum::default()));
            self.layers.len() - 1
        });
        &mut self.layers[at].1
    }
}

/// What the lines of the heap hold at the end, each with its heaviest site and with all of them.
pub(super) fn held_by_lines(stacks: &Stacks, sites: &[SiteProfile]) -> Vec<(Measure, usize, Vec<usize>)> {
    let mut lines: FxHashMap<Option<Key<'_>>, (Measure, usize, Vec<usize>)> = FxHashMap::default();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| site.category() == Category::Heap) {
        // Sites come by what they held: the first of a line is its heaviest.
        let line =
            lines.entry(stacks.line(site.stack).map(key)).or_insert((Measure::default(), at, Vec::new()));
        line.0.bytes += site.held.bytes;
        line.0.blocks += site.held.blocks;
        line.2.push(at);
    }
    lines.into_values().collect()
}

/// Whether a block was made by the C library for a thread that it starts. It makes one for each stack, which is given back
/// with the stack: when the thread is joined, or ends and need not be.
fn starts_thread(site: &SiteProfile, stacks: &Stacks) -> bool {
    site.kind == SiteKind::Heap && thread_start(stacks.frames(site.stack)).is_some()
}

/// The line that started most of the threads whose stacks are left at the end: its heaviest site, all of its sites, and how
/// many stacks that are.
pub(super) fn most_threads(stacks: &Stacks, sites: &[SiteProfile]) -> Option<(usize, Vec<usize>, u64)> {
    let mut lines: FxHashMap<Option<Key<'_>>, (usize, Vec<usize>, u64)> = FxHashMap::default();
    for (at, site) in sites.iter().enumerate().filter(|(_, site)| starts_thread(site, stacks)) {
        let line = lines.entry(stacks.line(site.stack).map(key)).or_insert((at, Vec::new(), 0));
        line.1.push(at);
        line.2 += site.held.blocks;
    }
    lines.into_values().max_by_key(|(leader, _, threads)| (*threads, std::cmp::Reverse(*leader)))
}

/// A site that hardly changed is not worth the comparison of all pairs.
fn slope_of(course: &Course, axis: &Axis, demands: Demands) -> f64 {
    let series = course.bytes(axis);
    if course.changed().abs() >= demands.least_rise {
        return trend(&series, demands).slope.value;
    }
    let points = series.points();
    let half = &points[points.len() / 2..];
    match (half.first(), half.last()) {
        (Some(first), Some(last)) if last.x > first.x => (last.y - first.y) / (last.x - first.x),
        _ => 0.0,
    }
}

/// What a part of a site had over time.
struct Part<'p> {
    /// The site by its index in the profile.
    site: usize,
    history: &'p History,
    end: Amount,
}

impl Part<'_> {
    fn at(&self, moment: &Moment) -> Amount {
        self.history.at(moment.mark).unwrap_or(self.end)
    }
}

/// All of them in the order of their sites.
fn histories<'p>(process: &'p Process, stacks: &Stacks, sites: &[SiteProfile]) -> Vec<Part<'p>> {
    let numbers = site_numbers(sites);
    let part = |history: &'p History| {
        let of = process.sites.get(history.site as usize)?;
        let site = *numbers.get(&(stacks.of(of.node), of.kind))?;
        Some(Part { site, history, end: of.live })
    };
    let mut parts: Vec<Part<'p>> = process.histories.iter().filter_map(part).collect();
    parts.sort_by_key(|part| part.site);
    parts
}

/// What a site had at each moment, by its parts.
fn course_of(parts: &[Part<'_>], axis: &Axis) -> Course {
    let mut sum = Course::default();
    parts.iter().for_each(|part| sum.add(&course(part, axis)));
    sum
}

/// What a site had more at the last moment than at the first.
fn rise(parts: &[Part<'_>], axis: &Axis) -> f64 {
    let [Some(first), Some(last)] = [axis.moments.first(), axis.moments.last()] else { return 0.0 };
    let bytes = |part: &Part<'_>, moment: &Moment| part.at(moment).bytes.get() as i64 as f64;
    parts.iter().map(|part| bytes(part, last) - bytes(part, first)).sum()
}

fn course(part: &Part<'_>, axis: &Axis) -> Course {
    let amounts = axis.moments.iter().map(|moment| part.at(moment));
    let (bytes, blocks) =
        amounts.map(|amount| (amount.bytes.get() as i64 as f64, amount.blocks as i64 as f64)).unzip();
    Course { bytes, blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_more_changes_no_course() {
        let two = Course { bytes: vec![1.0, 2.0], blocks: vec![3.0, 4.0] };
        let mut sum = two.clone();
        sum.add(&Course::default());
        assert_eq!(sum, two);
        let mut begun = Course::default();
        begun.add(&two);
        begun.add(&two);
        assert_eq!(begun, Course { bytes: vec![2.0, 4.0], blocks: vec![6.0, 8.0] });
    }
}
