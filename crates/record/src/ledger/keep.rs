//! When ledgers are taken, and which are kept: at most 32 of a process. The first one, the one with
//! the most resident memory, the latest and the one at the exit are never lost; of the others, which are taken from time to time
//! and when a loop begins, every second one is dropped when there are too many.

use std::fs::File;

use heaplens_format::recording::{Ledger, LedgerMoment};
use heaplens_format::{Bytes, Nanos};

use super::take::Subject;
use crate::arena::{HeaderReading, read_header};
use crate::os::clocks;
use crate::os::since;
use crate::thinning::drop_every_second;

/// The most that are kept of those that are taken from time to time.
const REGULAR: usize = 20;
/// The most that are kept of those that are taken when a loop begins: one of them is the main loop.
const AT_LOOPS: usize = 8;
/// For so many loops a ledger is taken as soon as they are found.
const FIRST_LOOPS: u32 = 8;
/// The time between two at first.
const FIRST_DISTANCE: Nanos = Nanos::new(200_000_000);
/// Growth below this is not worth a ledger.
const LITTLE: Bytes = Bytes::new(1 << 20);
/// After growth by the first part a ledger is taken soon, by the second when the last one is some time ago.
const MUCH: u64 = 8;
const SOME: u64 = 64;
/// So many times the cost of the last one must have passed before another is taken: a hundredth of one core, or a tenth while a
/// program grows by eighths. The first few are all that a short program has; after them it is a quarter of that.
const SELDOM: u64 = 100;
const SOON: u64 = 10;
const FIRST_FEW: u32 = 8;
const LATER: u64 = 4;

/// The ledgers of one process.
#[derive(Debug)]
pub(crate) struct Ledgers {
    subject: Subject,
    first: Option<Ledger>,
    /// Those that were taken because a loop had begun.
    at_loops: Vec<Ledger>,
    loops: u32,
    regular: Vec<Ledger>,
    distance: Nanos,
    peak: Option<Ledger>,
    last: Option<Ledger>,
    end: Option<Ledger>,
    /// How many were taken.
    taken: u32,
}

/// A reading of the process, as cheap as there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Since the start of the run.
    pub(crate) now: Nanos,
    /// Resident bytes of the program.
    pub(crate) rss: Bytes,
    /// Loops of Python that were found so far.
    pub(crate) loops: u32,
}

impl Ledgers {
    /// None was taken.
    pub(crate) fn new(subject: Subject) -> Self {
        Self {
            subject,
            first: None,
            at_loops: Vec::new(),
            loops: 0,
            regular: Vec::new(),
            distance: FIRST_DISTANCE,
            peak: None,
            last: None,
            end: None,
            taken: 0,
        }
    }

    /// The process that they are of.
    pub(crate) fn subject(&mut self) -> &mut Subject {
        &mut self.subject
    }

    /// Takes one if it is due.
    pub(crate) fn read(&mut self, arena: &File, reading: Reading) {
        if self.is_due(reading) {
            self.take(arena, reading, LedgerMoment::Running);
        }
    }

    /// Takes one while the process waits.
    pub(crate) fn read_end(&mut self, arena: &File, reading: Reading, moment: LedgerMoment) {
        self.take(arena, reading, moment);
    }

    /// Those that were kept, in the order of time.
    pub(crate) fn kept(&self) -> Vec<Ledger> {
        let single = [&self.first, &self.peak, &self.last, &self.end].into_iter().flatten();
        let mut kept: Vec<Ledger> = single.chain(&self.at_loops).chain(&self.regular).cloned().collect();
        kept.sort_by_key(|ledger| ledger.at);
        kept.dedup();
        kept
    }

    fn is_due(&self, reading: Reading) -> bool {
        let (Some(last), Some(peak)) = (&self.last, &self.peak) else { return true };
        let passed = since(last.at, reading.now);
        let factor = if self.taken < FIRST_FEW { 1 } else { LATER };
        let is_free = |times: u64| passed.get() >= last.took.get().saturating_mul(times * factor);
        let peak = peak.program();
        let grew = |part: u64| reading.rss > peak + Bytes::new(peak.get() / part).max(LITTLE);
        let is_early = self.loops < FIRST_LOOPS;
        reading.loops > self.loops && (is_early || is_free(SOON))
            || grew(MUCH) && is_free(SOON)
            || is_free(SELDOM) && (grew(SOME) || passed >= self.distance)
    }

    fn take(&mut self, arena: &File, reading: Reading, moment: LedgerMoment) {
        let before = clocks::own_cpu();
        let Some(ledger) = self.subject.take(arena) else { return };
        let took = since(before, clocks::own_cpu());
        // An agent whose wait timed out in the meantime has gone on.
        let waits = |header: HeaderReading| header.ledger_wanted == Some(moment);
        let moment = match read_header(arena) {
            Ok(header) if waits(header) => moment,
            _ => LedgerMoment::Running,
        };
        self.keep(Ledger { at: reading.now, moment, took, ..ledger }, reading.loops);
    }

    fn keep(&mut self, ledger: Ledger, loops: u32) {
        self.taken = self.taken.saturating_add(1);
        self.last = Some(ledger.clone());
        if self.peak.as_ref().is_none_or(|peak| ledger.program() > peak.program()) {
            self.peak = Some(ledger.clone());
        }
        if ledger.moment != LedgerMoment::Running {
            self.end = Some(ledger);
            return;
        }
        self.first.get_or_insert_with(|| ledger.clone());
        if loops > self.loops {
            self.loops = loops;
            make_room(&mut self.at_loops, AT_LOOPS);
            self.at_loops.push(ledger.clone());
        }
        if self.regular.last().is_none_or(|last| since(last.at, ledger.at) >= self.distance) {
            self.keep_regular(ledger);
        }
    }

    fn keep_regular(&mut self, ledger: Ledger) {
        if make_room(&mut self.regular, REGULAR) {
            self.distance = Nanos::new(self.distance.get().saturating_mul(2));
        }
        self.regular.push(ledger);
    }
}

/// Drops every second one when there are so many already.
fn make_room(ledgers: &mut Vec<Ledger>, most: usize) -> bool {
    let is_full = ledgers.len() >= most;
    if is_full {
        drop_every_second(ledgers);
    }
    is_full
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Pid;
    use proptest::prelude::*;

    fn ledgers() -> Ledgers {
        Ledgers::new(Subject::new(Pid::new(1), Vec::new()))
    }

    fn ledger(at_ms: u64, rss: u64) -> Ledger {
        let took = Nanos::new(1_000_000);
        Ledger { at: Nanos::new(at_ms * 1_000_000), rss: Bytes::new(rss), took, ..Ledger::default() }
    }

    fn reading(at_ms: u64, rss: u64) -> Reading {
        Reading { now: Nanos::new(at_ms * 1_000_000), rss: Bytes::new(rss), loops: 0 }
    }

    #[test]
    fn a_new_peak_has_a_ledger_soon_and_a_small_one_later() {
        let mut ledgers = ledgers();
        assert!(ledgers.is_due(reading(0, 1)));
        ledgers.keep(ledger(0, 64 << 20), 0);
        assert!(!ledgers.is_due(reading(5, 80 << 20)));
        assert!(ledgers.is_due(reading(10, 80 << 20)));
        assert!(!ledgers.is_due(reading(50, 66 << 20)));
        assert!(ledgers.is_due(reading(100, 66 << 20)));
        assert!(!ledgers.is_due(reading(199, 64 << 20)));
        assert!(ledgers.is_due(reading(200, 64 << 20)));
    }

    #[test]
    fn after_the_first_few_there_is_more_time_between_two() {
        let mut ledgers = ledgers();
        (0..u64::from(FIRST_FEW)).for_each(|at| ledgers.keep(ledger(at, 64 << 20), 0));
        let last = u64::from(FIRST_FEW) - 1;
        assert!(!ledgers.is_due(reading(last + 39, 80 << 20)));
        assert!(ledgers.is_due(reading(last + 40, 80 << 20)));
        assert!(!ledgers.is_due(reading(last + 399, 66 << 20)));
        assert!(ledgers.is_due(reading(last + 400, 66 << 20)));
    }

    #[test]
    fn a_loop_that_begins_has_a_ledger() {
        let mut ledgers = ledgers();
        ledgers.keep(ledger(0, 1), 0);
        assert!(ledgers.is_due(Reading { loops: 1, ..reading(1, 1) }));
        ledgers.keep(ledger(1, 1), 1);
        assert!(!ledgers.is_due(Reading { loops: 1, ..reading(2, 1) }));
        assert!(ledgers.is_due(Reading { loops: 2, ..reading(2, 1) }));
    }

    proptest! {
        #[test]
        fn first_last_peak_and_end_are_never_lost(steps in prop::collection::vec((1u64..5000, 0u64..1000), 1..400)) {
            let mut ledgers = ledgers();
            let mut at = 0;
            let mut all = Vec::new();
            for (step, rss) in steps {
                at += step;
                all.push(ledger(at, rss));
                ledgers.keep(ledger(at, rss), (at % 37) as u32);
            }
            let end = Ledger { moment: LedgerMoment::Exit, ..ledger(at + 1, 500) };
            ledgers.keep(end.clone(), 0);
            all.push(end.clone());
            let kept = ledgers.kept();
            prop_assert!(kept.len() <= 32, "{}", kept.len());
            prop_assert_eq!(kept.first(), all.first());
            prop_assert_eq!(kept.last(), Some(&end));
            let most = |ledgers: &[Ledger]| ledgers.iter().map(|ledger| ledger.rss).max();
            prop_assert_eq!(most(&kept), most(&all));
        }
    }
}
