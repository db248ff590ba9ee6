//! The memory of processes that lived at the same time. Pages that several of them have are in the resident memory of each;
//! proportional memory counts them once, so that memory shared with workers is not taken for theirs.

use heaplens_format::recording::{Ledger, Process, Rss};
use heaplens_format::{Bytes, Nanos};

/// What is shared must be this part of resident memory to be worth a line, and so many bytes.
const LEAST_SHARE: u64 = 20;
const LEAST_SHARED: Bytes = Bytes::new(1 << 20);

/// Memory of several processes together, with Heaplens's own: it is not known which of its pages the recorder has, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTree {
    /// When, since the start of the run: when it was most.
    pub at: Nanos,
    /// Processes that ledgers were taken of.
    pub processes: usize,
    /// Resident memory, pages that several have counted for each.
    pub rss: Bytes,
    /// The same, each page counted once for all that have it.
    pub pss: Bytes,
    /// Pages that no other process has.
    pub uss: Bytes,
}

/// Resident memory of all processes together, without Heaplens's own: when the first of them began, at its most, and when the first of them
/// ended. That of a single process is known already.
pub(crate) fn resident(processes: &[&Process], alone: Option<Rss>) -> Option<Rss> {
    let [first, _, ..] = processes else { return alone };
    let mut readings: Vec<(Nanos, usize, Bytes)> = Vec::new();
    for (at, process) in processes.iter().enumerate() {
        readings.extend(process.timeline.iter().map(|sample| (sample.at, at, sample.rss)));
        readings.push((process.finish, at, Bytes::ZERO));
    }
    readings.sort_by_key(|&(at, ..)| at);
    let mut now = vec![Bytes::ZERO; processes.len()];
    let (mut sum, mut peak, mut end) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    for (at, of, rss) in readings {
        if at >= first.finish && end == Bytes::ZERO {
            end = sum;
        }
        sum = sum.saturating_sub(std::mem::replace(&mut now[of], rss)) + rss;
        peak = peak.max(sum);
    }
    let read = || processes.iter().filter_map(|process| process.rss);
    let largest = read().map(|rss| rss.peak).max()?;
    let start = first.rss.map_or(Bytes::ZERO, |rss| rss.start);
    Some(Rss { start, peak: peak.max(largest), end: end.max(first.rss.map_or(Bytes::ZERO, |rss| rss.end)) })
}

/// The tree when several lived and their memory was most; `None` where there was but one process, or next to nothing shared.
pub(crate) fn tree(processes: &[Process]) -> Option<ProcessTree> {
    let looked_at: Vec<&Process> = processes.iter().filter(|process| !process.ledgers.is_empty()).collect();
    let moments = looked_at.iter().flat_map(|process| &process.ledgers).map(|ledger| ledger.at);
    let trees = moments.map(|at| tree_at(&looked_at, at)).filter(|tree| tree.processes > 1);
    let most = trees.max_by_key(|tree| tree.pss)?;
    let shared = most.rss.saturating_sub(most.pss);
    let matters = shared >= LEAST_SHARED && shared.get() >= most.rss.get() / LEAST_SHARE;
    matters.then_some(most)
}

/// What each had before the youngest of them began is of another tree: what it shared with none then, it may share now. And what one shares
/// with none after another was seen for the last time, it may have shared with that: its end is noticed later than its memory goes.
fn tree_at(processes: &[&Process], at: Nanos) -> ProcessTree {
    let living = || processes.iter().filter(|process| process.start <= at && at <= last_seen(process));
    let youngest = living().map(|process| process.start).max().unwrap_or_default();
    let ledgers = living().filter_map(|process| latest(&process.ledgers, youngest, at));
    ledgers.fold(ProcessTree { at, ..ProcessTree::default() }, |sum, ledger| ProcessTree {
        at,
        processes: sum.processes + 1,
        rss: sum.rss + ledger.rss,
        pss: sum.pss + ledger.pss,
        uss: sum.uss + ledger.uss,
    })
}

/// When a process was last read.
fn last_seen(process: &Process) -> Nanos {
    let ledger = process.ledgers.last().map_or(process.start, |ledger| ledger.at);
    process.timeline.last().map_or(process.finish, |sample| sample.at.max(ledger))
}

fn latest(ledgers: &[Ledger], from: Nanos, to: Nanos) -> Option<&Ledger> {
    ledgers.iter().rev().find(|ledger| ledger.at <= to).filter(|ledger| ledger.at >= from)
}

#[cfg(test)]
mod tests {
    use heaplens_format::recording::Sample;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn process(start: u64, finish: u64, ledgers: &[(u64, [u64; 3])]) -> Process {
        let ledger = |&(at, [rss, pss, uss]): &(u64, [u64; 3])| Ledger {
            at: Nanos::new(at),
            rss: Bytes::new(rss * MIB),
            pss: Bytes::new(pss * MIB),
            uss: Bytes::new(uss * MIB),
            ..Ledger::default()
        };
        let ledgers = ledgers.iter().map(ledger).collect();
        Process { start: Nanos::new(start), finish: Nanos::new(finish), ledgers, ..Process::default() }
    }

    #[test]
    fn processes_that_live_at_once_are_added_when_they_have_most() {
        let parent = process(0, 100, &[(10, [50, 50, 50]), (60, [80, 45, 10]), (95, [90, 90, 90])]);
        let worker = process(50, 90, &[(70, [78, 44, 9])]);
        let earlier = process(0, 40, &[(10, [90, 20, 20])]);
        let mib = |mib: u64| Bytes::new(mib * MIB);
        let expected =
            ProcessTree { at: Nanos::new(70), processes: 2, rss: mib(158), pss: mib(89), uss: mib(19) };
        assert_eq!(tree(&[parent, worker, earlier]), Some(expected));
    }

    #[test]
    fn what_is_read_after_another_was_last_seen_is_not_added_to_it() {
        let parent = process(0, 100, &[(70, [80, 45, 10]), (80, [80, 80, 80])]);
        let mut worker = process(50, 90, &[(60, [78, 44, 9])]);
        worker.timeline = vec![Sample { at: Nanos::new(75), ..Sample::default() }];
        let mib = |mib: u64| Bytes::new(mib * MIB);
        let expected =
            ProcessTree { at: Nanos::new(70), processes: 2, rss: mib(158), pss: mib(89), uss: mib(19) };
        assert_eq!(tree(&[parent, worker]), Some(expected));
    }

    fn read(process: Process, readings: &[(u64, u64)]) -> Process {
        let sample = |&(at, mib): &(u64, u64)| Sample {
            at: Nanos::new(at),
            rss: Bytes::new(mib * MIB),
            ..Sample::default()
        };
        let [start, peak, end] =
            [readings[0].1, readings.iter().map(|one| one.1).max().unwrap(), readings[readings.len() - 1].1]
                .map(|mib| Bytes::new(mib * MIB));
        Process {
            timeline: readings.iter().map(sample).collect(),
            rss: Some(Rss { start, peak, end }),
            ..process
        }
    }

    #[test]
    fn resident_memory_of_a_tree_is_that_of_the_living() {
        let parent = read(process(0, 100, &[]), &[(5, 10), (55, 20), (95, 20)]);
        let early = read(process(10, 40, &[]), &[(15, 30), (35, 60)]);
        let late = read(process(50, 120, &[]), &[(60, 5), (90, 45), (110, 90)]);
        let mib = |mib: u64| Bytes::new(mib * MIB);
        let found = resident(&[&parent, &early, &late], None);
        assert_eq!(found, Some(Rss { start: mib(10), peak: mib(90), end: mib(65) }));
        let alone = parent.rss;
        assert_eq!(resident(&[&parent], alone), alone, "one process is its own tree");
    }

    #[test]
    fn what_a_parent_had_before_the_fork_is_not_added_to_its_worker() {
        let parent = process(0, 100, &[(10, [80, 80, 80])]);
        let worker = process(50, 90, &[(70, [78, 40, 4])]);
        assert_eq!(tree(&[parent, worker]), None);
    }

    #[test]
    fn one_process_and_processes_that_share_nothing_are_no_tree() {
        assert_eq!(tree(&[process(0, 9, &[(5, [80, 40, 40])])]), None);
        assert_eq!(tree(&[process(0, 9, &[(5, [80, 79, 79])]), process(0, 9, &[(5, [80, 79, 79])])]), None);
        assert_eq!(tree(&[]), None);
    }
}
