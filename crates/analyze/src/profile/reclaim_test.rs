//! The reclaim test: what Python's collector freed and what the allocator gave back when a process was asked to.

use heaplens_format::Bytes;
use heaplens_format::memory::Category;
use heaplens_format::recording::{Mark, MarkKind, Process, Stage};

/// The last reclaim test of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimTest {
    /// By Python's collector; `None` where none was run.
    pub collected: Option<Collected>,
    /// By the allocator; `None` where it was not asked.
    pub trimmed: Option<Resident>,
}

/// What a run of Python's collector freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Bytes in heap blocks.
    pub heap: Bytes,
    /// Bytes in small objects, which may be sampled.
    pub objects: Bytes,
    /// Resident memory.
    pub rss: Resident,
}

/// Resident memory before and afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Before.
    pub before: Bytes,
    /// Afterwards.
    pub after: Bytes,
}

impl Resident {
    /// What went back to the system.
    pub fn returned(self) -> Bytes {
        self.before.saturating_sub(self.after)
    }
}

/// A stage that a reclaim test has come to: the number of its mark, and what was resident.
type StageMark = (usize, Bytes);

pub(crate) fn reclaim_test(process: &Process) -> Option<ReclaimTest> {
    let first = last_mark(process, Stage::Before)?;
    let step = |stage| {
        let rest = process.marks.iter().enumerate().skip(first);
        rest.filter_map(|(number, mark)| at(mark, stage).map(|rss| (number, rss))).next()
    };
    let before = step(Stage::Before)?;
    let collected = step(Stage::Collected);
    let resident = |from: StageMark, to: StageMark| Resident { before: from.1, after: to.1 };
    Some(ReclaimTest {
        collected: collected.map(|after| Collected {
            heap: freed(process, before, after, Category::Heap),
            objects: freed(process, before, after, Category::Objects),
            rss: resident(before, after),
        }),
        trimmed: step(Stage::Trimmed).map(|after| resident(collected.unwrap_or(before), after)),
    })
}

/// The last mark of a stage, by its index.
pub(crate) fn last_mark(process: &Process, wanted: Stage) -> Option<usize> {
    process.marks.iter().rposition(|mark| at(mark, wanted).is_some())
}

fn at(mark: &Mark, wanted: Stage) -> Option<Bytes> {
    match mark.kind {
        MarkKind::Test { stage, rss } if stage == wanted => Some(rss),
        _ => None,
    }
}

/// The difference of what sites had at two marks. Most sites did not change in between, and those without a history never.
fn freed(process: &Process, before: StageMark, after: StageMark, category: Category) -> Bytes {
    let mut freed = 0i128;
    for history in &process.histories {
        let Some(site) = process.sites.get(history.site as usize) else { continue };
        if site.kind.category() == category {
            let live = |step: StageMark| i128::from(history.at(step.0).unwrap_or(site.live).bytes.get());
            freed += live(before) - live(after);
        }
    }
    Bytes::new(u64::try_from(freed.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::recording::{Amount, Change, History, Site, SiteKind};
    use heaplens_format::{Nanos, NodeId};

    fn test(stage: Stage, rss: u64) -> Mark {
        let kind = MarkKind::Test { stage, rss: Bytes::new(rss) };
        Mark { at: Nanos::default(), live: Bytes::ZERO, kind }
    }

    fn amount(bytes: u64) -> Amount {
        Amount { bytes: Bytes::new(bytes), blocks: 1 }
    }

    fn process(marks: Vec<Mark>) -> Process {
        let site = |kind, live| {
            let (live, peak, allocated) = (amount(live), Amount::default(), Amount::default());
            Site { node: NodeId::new(0), kind, live, peak, allocated }
        };
        let change = |until, bytes| Change { until, live: amount(bytes) };
        Process {
            sites: vec![site(SiteKind::Heap, 5), site(SiteKind::PythonObject, 7), site(SiteKind::Heap, 9)],
            histories: vec![
                History { site: 0, changes: vec![change(1, 100), change(2, 40)] },
                History { site: 1, changes: vec![change(1, 27)] },
            ],
            marks,
            ..Process::default()
        }
    }

    #[test]
    fn what_sites_lost_between_two_stages_came_back() {
        let marks = vec![test(Stage::Before, 1000), test(Stage::Collected, 900), test(Stage::Trimmed, 300)];
        let found = reclaim_test(&process(marks)).unwrap();
        let rss = Resident { before: Bytes::new(1000), after: Bytes::new(900) };
        let collected = Collected { heap: Bytes::new(60), objects: Bytes::new(20), rss };
        assert_eq!(found.collected, Some(collected));
        assert_eq!(found.trimmed.unwrap().returned(), Bytes::new(600));
    }

    #[test]
    fn a_native_program_is_only_trimmed() {
        let marks = vec![test(Stage::Before, 1000), test(Stage::Trimmed, 400)];
        let found = reclaim_test(&process(marks)).unwrap();
        assert_eq!(
            found,
            ReclaimTest {
                collected: None,
                trimmed: Some(Resident { before: Bytes::new(1000), after: Bytes::new(400) }),
            }
        );
    }

    #[test]
    fn the_last_test_counts_and_without_one_nothing_is_said() {
        let marks = vec![test(Stage::Before, 9), test(Stage::Trimmed, 8), test(Stage::Before, 7)];
        assert_eq!(reclaim_test(&process(marks)), Some(ReclaimTest::default()));
        assert_eq!(reclaim_test(&process(Vec::new())), None);
    }
}
