//! Sites of one process: those with the same stack and kind are one, each with its margin when the run was sampled,
//! and their sums.

use std::cmp::Reverse;

use heaplens_format::Bytes;
use heaplens_format::memory::{Category, Layer, Sampling, SiteKind};
use heaplens_format::recording::{Amount, History, MarkKind, Process, Site, ThreadOf};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::margin::Variance;
use super::site::{Measure, SiteProfile, Totals};
use super::threads::{Shares, SiteThreads};
use crate::profile::stacks::{StackFrame, StackId, Stacks};

/// The mean distances of samples in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intervals {
    pub(crate) heap: Option<Bytes>,
    pub(crate) objects: Option<Bytes>,
}

impl Intervals {
    pub(crate) fn of(process: &Process, heap: Option<Bytes>) -> Self {
        Self { heap, objects: process.object_interval.filter(|&interval| interval > Bytes::new(1)) }
    }

    /// That of what is sampled so; `None`: all of it is recorded.
    pub(crate) fn by(self, sampling: Sampling) -> Option<Bytes> {
        match sampling {
            Sampling::Heap => self.heap,
            Sampling::Objects => self.objects,
            Sampling::Never => None,
        }
    }

    fn of_category(self, category: Category) -> Option<Bytes> {
        self.by(category.row().sampling)
    }
}

/// The moment of `held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeldAt {
    /// Before the process allocated anything.
    Start,
    /// A mark, by its index.
    Mark(usize),
    /// When the script was through; where that is not known, at the end.
    #[default]
    End,
}

impl HeldAt {
    fn of(self, process: &Process, site: &Site, history: Option<&History>) -> Amount {
        let mark = match self {
            Self::Start => return Amount::default(),
            Self::Mark(mark) => Some(mark),
            Self::End => end_of_script(process),
        };
        mark.zip(history).and_then(|(mark, history)| history.at(mark)).unwrap_or(site.live)
    }
}

/// The sites of a process, each stack and kind once.
#[derive(Debug, Default)]
pub(crate) struct MergedSites {
    /// By what they held, then by live bytes and by bytes at the peak.
    pub(crate) sites: Vec<SiteProfile>,
    /// Of each site of the recording, which of them it is a part of.
    pub(crate) numbers: Vec<usize>,
    pub(crate) threads: SiteThreads,
}

/// Takes sites with the same stack and kind together.
pub(crate) fn merge(
    process: &Process,
    stacks: &Stacks,
    intervals: Intervals,
    held_at: HeldAt,
) -> MergedSites {
    let mut known = FxHashMap::with_capacity_and_hasher(process.sites.len(), FxBuildHasher);
    let mut merged: Vec<((StackId, SiteKind), SiteTotals)> = Vec::with_capacity(process.sites.len());
    let mut numbers = Vec::with_capacity(process.sites.len());
    let mut histories = process.histories.iter().peekable();
    for (at, site) in process.sites.iter().enumerate() {
        let history = histories.next_if(|history| history.site as usize == at);
        let held = held_at.of(process, site, history);
        let key = (stacks.of(site.node), site.kind);
        let number = *known.entry(key).or_insert_with(|| {
            merged.push((key, SiteTotals { number: merged.len(), ..SiteTotals::default() }));
            merged.len() - 1
        });
        numbers.push(number);
        merged[number].1.add(site, held, process.threads.of(at));
    }
    let by_weight = |((stack, kind), sum): &((StackId, SiteKind), SiteTotals)| {
        let bytes = (sum.held.bytes, sum.live.bytes, sum.peak.bytes, sum.allocated.bytes);
        (Reverse(bytes), *stack, *kind)
    };
    merged.sort_unstable_by_key(by_weight);
    let mut sorted = vec![0; merged.len()];
    merged.iter().enumerate().for_each(|(at, (_, sum))| sorted[sum.number] = at);
    numbers.iter_mut().for_each(|number| *number = sorted[*number]);
    let mut threads = SiteThreads { names: process.threads.names.clone(), ..SiteThreads::default() };
    let sites = merged.into_iter().map(|((stack, kind), mut sum)| {
        let layer = kind.layer(stacks.frames(stack).next().and_then(layer_of_code));
        let thread = std::mem::take(&mut sum.shares).finish().unwrap_or_else(|shares| {
            threads.shares.insert((stack, kind), shares);
            ThreadOf::Several
        });
        sum.site(stack, (kind, layer), thread, intervals)
    });
    MergedSites { sites: sites.collect(), numbers, threads }
}

/// The mark that was made when the script was through.
pub(crate) fn end_of_script(process: &Process) -> Option<usize> {
    process.marks.iter().rposition(|mark| mark.kind == MarkKind::EndOfScript)
}

/// The layer of what the code of a frame itself asks for.
fn layer_of_code(frame: &StackFrame) -> Option<Layer> {
    frame.module.as_deref().and_then(Layer::of_object_file)
}

/// The sums of all categories. The heap's peak is the one the agent saw, to the byte; what sites remember of it may be off by an
/// event in flight.
pub(crate) fn totals(sites: &[SiteProfile], process: &Process, intervals: Intervals) -> Vec<Totals> {
    let mut totals: Vec<Totals> =
        Category::ALL.iter().map(|&category| totals_of(sites, category, intervals)).collect();
    if process.peak_live > Bytes::ZERO {
        totals[Category::Heap as usize].peak.bytes = process.peak_live;
    }
    totals
}

fn totals_of(sites: &[SiteProfile], category: Category, intervals: Intervals) -> Totals {
    let own = || sites.iter().filter(move |site| site.category() == category);
    let interval = intervals.of_category(category);
    Totals {
        live: sum(own().map(|site| site.live), interval),
        held: sum(own().map(|site| site.held), interval),
        peak: sum(own().map(|site| site.peak), interval),
        allocated: sum(own().map(|site| site.allocated), interval),
    }
}

fn sum(measures: impl Iterator<Item = Measure>, interval: Option<Bytes>) -> Measure {
    let mut sum = Amount::default();
    let mut variance = Variance::default();
    for measure in measures {
        let amount = measure.amount();
        add(&mut sum, amount);
        variance.add(interval.map_or_else(Variance::default, |interval| Variance::of(amount, interval)));
    }
    Measure { bytes: sum.bytes, blocks: sum.blocks, margin: interval.map(|_| variance.margin()) }
}

fn add(to: &mut Amount, amount: Amount) {
    to.bytes += amount.bytes;
    to.blocks = to.blocks.wrapping_add(amount.blocks);
}

#[derive(Default)]
struct SiteTotals {
    /// In the order in which sites were found.
    number: usize,
    live: Amount,
    held: Amount,
    peak: Amount,
    allocated: Amount,
    shares: Shares,
}

impl SiteTotals {
    fn add(&mut self, site: &Site, held: Amount, thread: ThreadOf) {
        self.shares.add(thread, [held, site.allocated], [self.held, self.allocated]);
        add(&mut self.live, site.live);
        add(&mut self.held, held);
        add(&mut self.peak, site.peak);
        add(&mut self.allocated, site.allocated);
    }

    fn site(
        self,
        stack: StackId,
        (kind, layer): (SiteKind, Layer),
        thread: ThreadOf,
        intervals: Intervals,
    ) -> SiteProfile {
        let interval = intervals.of_category(kind.category());
        let measure = |amount: Amount| sum(std::iter::once(measure(amount)), interval);
        SiteProfile {
            kind,
            layer,
            live: measure(self.live),
            held: measure(self.held),
            peak: measure(self.peak),
            allocated: measure(self.allocated),
            stack,
            thread,
        }
    }
}

fn measure(amount: Amount) -> Measure {
    Measure { bytes: amount.bytes, blocks: amount.blocks, margin: None }
}
