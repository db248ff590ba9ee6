//! What is known about a process before its diagnosis: what was recorded of it, and its profile. Rules read no more than this,
//! what the reclaim test gave, and each other's findings.

use heaplens_format::Bytes;
use heaplens_format::memory::{Sampling, SiteKind, Tables};
use heaplens_format::recording::Process;

use crate::profile::{Category, Iterations, SiteProfile, Stacks};
use crate::trend::{Axis, AxisMark, LEAST_OF_WHOLE, LEAST_TO_STOP, Point, Series};

/// What is known about a process before its growth.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) process: &'a Process,
    /// Whether it is a program that another one started for a while, as a compiler is.
    pub(crate) is_helper: bool,
    pub(crate) stacks: &'a Stacks,
    pub(crate) sites: &'a [SiteProfile],
    /// Of each site of the recording, which of these it is a part of.
    pub(crate) site_numbers: &'a [usize],
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

impl Known<'_> {
    /// The index in the profile of what a site of the recording is a part of.
    pub(crate) fn site_number(self, recorded: u32) -> Option<usize> {
        self.site_numbers.get(recorded as usize).copied()
    }

    pub(super) fn least_of_whole(self) -> f64 {
        LEAST_OF_WHOLE.max(self.resident() / 100.0)
    }

    pub(super) fn live_at(self, axis: &Axis) -> Series {
        let live = |moment: &AxisMark| self.process.marks[moment.mark].live.get() as f64;
        let points = axis.moments.iter().map(|moment| Point { x: moment.x, y: live(moment) });
        Series::new(points.collect())
    }

    /// Whether the heap rose by what matters, from the first mark to the last.
    pub(super) fn rose(self, axis: &Axis) -> bool {
        let series = self.live_at(axis);
        let first = series.points().first().map_or(0.0, |point| point.y);
        series.last() - first >= self.least_to_stop()
    }

    /// Live bytes of the heap at the end.
    pub(super) fn kept(self) -> f64 {
        let heap = self.sites.iter().filter(|site| site.category() == Category::Heap);
        heap.map(|site| site.held.bytes.get() as f64).sum()
    }

    pub(super) fn resident(self) -> f64 {
        self.process.rss.map_or(0.0, |rss| rss.peak.get() as f64)
    }

    pub(super) fn least_to_stop(self) -> f64 {
        LEAST_TO_STOP.max(self.resident() / 100.0)
    }

    pub(super) fn grain(self, kind: SiteKind) -> f64 {
        let interval = match kind.category().row().sampling {
            Sampling::Heap => self.heap_interval,
            Sampling::Objects => self.object_interval,
            Sampling::Never => None,
        };
        interval.map_or(0.0, |interval| interval.get() as f64)
    }
}
