//! What the reclaim test proved at the end of a script: garbage of cycles by a collection, free memory of the
//! allocator by a trim.

use heaplens_format::Bytes;
use heaplens_format::arena::counter::COLLECTOR_HELD;
use heaplens_format::recording::{Ledger, Line, MarkKind, Process, Stage};
use rustc_hash::FxHashMap;

use super::known::Known;
use crate::profile::reclaim_test::last_mark;
use crate::profile::{SiteProfile, Stacks, site_numbers};
use crate::trend::Axis;

/// Bytes that the reclaim test gave back; nothing where there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reclaimed {
    /// What Python's collector freed, by the index of the site in the profile.
    pub(crate) by_collection: FxHashMap<usize, f64>,
    /// Resident bytes that the allocator gave back.
    pub(crate) by_trim: Option<Bytes>,
    /// Resident bytes more, by the ledgers, that are free in the allocator or pages of files.
    pub(crate) by_ledger: f64,
    /// Whether something kept the collector from coming by itself.
    pub(crate) is_held_off: bool,
    /// Iterations or seconds over which it was seen to grow.
    pub(crate) length: f64,
}

impl Reclaimed {
    /// By the last test of a process, of which it is known what a trim gave back and what was live while it still grew. What
    /// was freed between that moment and the trim, be it by the collection of the test itself, was no free memory then.
    pub(super) fn of(known: Known<'_>, axis: &Axis, live: f64, length: f64) -> Self {
        let Known { process, stacks, sites, trimmed, .. } = known;
        let collection = last_mark(process, Stage::Before).zip(last_mark(process, Stage::Collected));
        let by_collection = match collection.filter(|(before, after)| before < after) {
            Some(marks) => collected(process, stacks, sites, marks),
            None => FxHashMap::default(),
        };
        let at_test =
            last_mark(process, Stage::Before).map_or(live, |mark| process.marks[mark].live.get() as f64);
        let freed = Bytes::new((live - at_test).max(0.0) as u64) + freed_and_resident(process);
        let is_held_off = process.counters.notes.iter().any(|note| *note.counter == *COLLECTOR_HELD);
        let by_trim = trimmed.map(|bytes| bytes.saturating_sub(freed));
        let by_ledger = no_blocks(process, axis);
        Self { by_collection, by_trim, by_ledger, is_held_off, length }
    }

    /// What the collection freed of these sites.
    pub(crate) fn freed(&self, sites: &[usize]) -> f64 {
        sites.iter().filter_map(|site| self.by_collection.get(site)).sum()
    }

    /// The same of those that are meant.
    pub(crate) fn freed_at(&self, sites: &[usize], is_meant: impl Fn(usize) -> bool) -> f64 {
        let own = sites.iter().filter(|&&site| is_meant(site));
        own.filter_map(|site| self.by_collection.get(site)).sum()
    }
}

/// What the collection of the last test freed and did not give back to the system by itself: a trim does.
fn freed_and_resident(process: &Process) -> Bytes {
    let at = |stage| {
        let mark = &process.marks[last_mark(process, stage)?];
        match mark.kind {
            MarkKind::Test { rss, .. } => Some((mark.live, rss)),
            _ => None,
        }
    };
    match (at(Stage::Before), at(Stage::Collected)) {
        (Some((live, rss)), Some((live_after, rss_after))) => {
            live.saturating_sub(live_after).saturating_sub(rss.saturating_sub(rss_after))
        }
        _ => Bytes::ZERO,
    }
}

/// What ledgers count more of at the end than when iterations began, and that is in no block: free memory of the allocator, and
/// pages of files.
fn no_blocks(process: &Process, axis: &Axis) -> f64 {
    let began = axis.moments.first().map_or(process.start, |moment| moment.at);
    let mut ledgers = process.ledgers.iter().filter(|ledger| ledger.at >= began);
    let bytes = |ledger: &Ledger| {
        [Line::ALLOCATOR_FREE, Line::MAPPED_FILES]
            .map(|line| ledger.line(line).get() as f64)
            .iter()
            .sum::<f64>()
    };
    let first = ledgers.next().map_or(0.0, bytes);
    ledgers.next_back().map_or(0.0, |last| bytes(last) - first)
}

fn collected(
    process: &Process,
    stacks: &Stacks,
    sites: &[SiteProfile],
    (before, after): (usize, usize),
) -> FxHashMap<usize, f64> {
    let numbers = site_numbers(sites);
    let mut freed = FxHashMap::default();
    for history in &process.histories {
        let Some(site) = process.sites.get(history.site as usize) else { continue };
        let Some(&at) = numbers.get(&(stacks.of(site.node), site.kind)) else { continue };
        let live = |mark| history.at(mark).unwrap_or(site.live).bytes.get() as i64;
        *freed.entry(at).or_default() += (live(before) - live(after)) as f64;
    }
    freed
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Nanos;
    use heaplens_format::recording::Mark;

    fn mark(stage: Stage, live: u64, rss: u64) -> Mark {
        let kind = MarkKind::Test { stage, rss: Bytes::new(rss) };
        Mark { at: Nanos::default(), live: Bytes::new(live), kind }
    }

    #[test]
    fn what_the_collection_freed_and_left_resident_is_known() {
        let after = |live, rss| {
            let marks = vec![mark(Stage::Before, 1000, 5000), mark(Stage::Collected, live, rss)];
            freed_and_resident(&Process { marks, ..Process::default() })
        };
        assert_eq!(after(400, 5000), Bytes::new(600), "all of it stayed");
        assert_eq!(after(400, 4800), Bytes::new(400), "some went back at once");
        assert_eq!((after(1000, 5000), after(400, 4000)), (Bytes::ZERO, Bytes::ZERO));
        assert_eq!(freed_and_resident(&Process::default()), Bytes::ZERO, "there was no test");
    }
}
