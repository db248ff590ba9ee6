//! What the reclaim test proved at the end of a script: garbage of cycles by a collection, free memory of the
//! allocator by a trim.

use heaplens_format::Bytes;
use heaplens_format::arena::counter::COLLECTOR_HELD;
use heaplens_format::recording::{Ledger, LedgerMoment, Line, MarkKind, Process, Stage};
use rustc_hash::FxHashMap;

use super::known::Known;
use crate::profile::reclaim_test::{last_mark, reclaim_test};
use crate::trend::Axis;

/// Bytes that the reclaim test gave back; nothing where there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reclaimed {
    /// What Python's collector freed, by the index of the site in the profile.
    pub(crate) by_collection: FxHashMap<usize, f64>,
    /// What the program itself freed after its last iteration and before the test, by the same.
    pub(crate) by_program: FxHashMap<usize, f64>,
    /// Resident bytes that the allocator gave back and that were free while the program ran.
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
    /// was freed between that moment and the trim, be it by the collection of the test itself, was no free memory then; and no more was
    /// free than the ledger before the test counts.
    pub(super) fn of(known: Known<'_>, axis: &Axis, live: f64, length: f64) -> Self {
        let Known { process, trimmed, .. } = known;
        let collection = last_mark(process, Stage::Before).zip(last_mark(process, Stage::Collected));
        let by_collection = match collection.filter(|(before, after)| before < after) {
            Some(marks) => freed_between(known, marks),
            None => FxHashMap::default(),
        };
        let last = axis.moments.last().map(|moment| moment.mark);
        let by_program = match last.zip(last_mark(process, Stage::Before)).filter(|(last, test)| last < test)
        {
            Some(marks) => freed_between(known, marks),
            None => FxHashMap::default(),
        };
        let at_test =
            last_mark(process, Stage::Before).map_or(live, |mark| process.marks[mark].live.get() as f64);
        let just_freed = Bytes::new((live - at_test).max(0.0) as u64);
        let freed = just_freed + freed_and_resident(process);
        let is_held_off = process.counters.notes.iter().any(|note| *note.counter == *COLLECTOR_HELD);
        let free = free_before_test(process).map(|free| free.saturating_sub(just_freed));
        let by_trim = trimmed.map(|bytes| bytes.saturating_sub(freed).min(free.unwrap_or(bytes)));
        let by_ledger = no_blocks(process, axis);
        Self { by_collection, by_program, by_trim, by_ledger, is_held_off, length }
    }

    /// What the collection freed of these sites.
    pub(crate) fn freed(&self, sites: &[usize]) -> f64 {
        sites.iter().filter_map(|site| self.by_collection.get(site)).sum()
    }

    /// What was freed of a site after the last iteration, by the program or by the collection.
    pub(crate) fn freed_since(&self, site: usize) -> f64 {
        [&self.by_program, &self.by_collection].into_iter().filter_map(|freed| freed.get(&site)).sum()
    }

    /// The same of those that are meant.
    pub(crate) fn freed_at(&self, sites: &[usize], is_meant: impl Fn(usize) -> bool) -> f64 {
        let own = sites.iter().filter(|&&site| is_meant(site));
        own.filter_map(|site| self.by_collection.get(site)).sum()
    }
}

/// What was free in the allocator right before the last test, by the ledger at the end; `None` where there is none.
fn free_before_test(process: &Process) -> Option<Bytes> {
    let test = process.marks[last_mark(process, Stage::Before)?].at;
    let is_of_end = |ledger: &&Ledger| ledger.moment != LedgerMoment::Running && ledger.at <= test;
    process.ledgers.iter().rfind(is_of_end).map(|ledger| ledger.line(Line::ALLOCATOR_FREE))
}

/// What the collection of the last test freed and did not give back to the system by itself: a trim does. Small objects of Python are
/// returned with their own pools, and are no part of what the allocator has.
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
            let objects = reclaim_test(process).and_then(|test| test.collected).map(|freed| freed.objects);
            let of_heap = rss.saturating_sub(rss_after).saturating_sub(objects.unwrap_or_default());
            live.saturating_sub(live_after).saturating_sub(of_heap)
        }
        _ => Bytes::ZERO,
    }
}

/// What ledgers count more of at the end than when iterations began, and that is in no block: free memory of allocators, and
/// pages of files.
fn no_blocks(process: &Process, axis: &Axis) -> f64 {
    let began = axis.moments.first().map_or(process.start, |moment| moment.at);
    let bytes = |ledger: &Ledger| {
        let lines = [Line::ALLOCATOR_FREE, Line::POOL_UNUSED, Line::MAPPED_FILES];
        lines.map(|line| ledger.line(line).get() as f64).iter().sum::<f64>()
    };
    let mut since = process.ledgers.iter().filter(|ledger| ledger.at >= began);
    let first = since.next().map_or(0.0, bytes);
    since.next_back().map_or(0.0, |last| bytes(last) - first)
}

/// What sites had less at the second mark than at the first.
fn freed_between(known: Known<'_>, (before, after): (usize, usize)) -> FxHashMap<usize, f64> {
    let mut freed = FxHashMap::default();
    for history in &known.process.histories {
        let Some(site) = known.process.sites.get(history.site as usize) else { continue };
        let Some(at) = known.site_number(history.site) else { continue };
        let live = |mark| history.at(mark).unwrap_or(site.live).bytes.get() as i64;
        let bytes = live(before) - live(after);
        if bytes != 0 {
            *freed.entry(at).or_default() += bytes as f64;
        }
    }
    freed
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Nanos;
    use heaplens_format::NodeId;
    use heaplens_format::recording::{Amount, Change, History, Mark, Site, SiteKind};

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

    #[test]
    fn pools_of_small_objects_that_go_back_are_not_taken_for_freed_blocks() {
        let marks = vec![mark(Stage::Before, 1000, 5000), mark(Stage::Collected, 400, 4200)];
        let amount = |bytes| Amount { bytes: Bytes::new(bytes), blocks: 1 };
        let (peak, allocated) = (Amount::default(), Amount::default());
        let site = |kind, live| Site { node: NodeId::new(0), kind, live: amount(live), peak, allocated };
        let history = History { site: 0, changes: vec![Change { until: 1, live: amount(900) }] };
        let sites = vec![site(SiteKind::PythonObject, 200)];
        let process = Process { marks, sites, histories: vec![history], ..Process::default() };
        assert_eq!(freed_and_resident(&process), Bytes::new(500), "of 800 that went back, 700 were objects");
    }

    #[test]
    fn what_was_free_is_known_by_the_ledger_that_was_taken_right_before() {
        let at = |nanos, stage| Mark { at: Nanos::new(nanos), ..mark(stage, 0, 0) };
        let ledger = |nanos, moment, free| {
            let mut ledger = Ledger { at: Nanos::new(nanos), moment, ..Ledger::default() };
            ledger.lines.add(Line::ALLOCATOR_FREE, Bytes::new(free));
            ledger
        };
        let running = ledger(10, LedgerMoment::Running, 90);
        let process = |ledgers| Process { marks: vec![at(20, Stage::Before)], ledgers, ..Process::default() };
        let end = ledger(19, LedgerMoment::EndOfScript, 5);
        assert_eq!(free_before_test(&process(vec![running.clone(), end])), Some(Bytes::new(5)));
        let after = ledger(21, LedgerMoment::Exit, 5);
        assert_eq!(free_before_test(&process(vec![running, after])), None, "it was taken after the test");
    }
}
