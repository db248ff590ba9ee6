//! Runs of loops that wait for their frames to come back: those of generators and coroutines that are suspended, and of the outer calls of
//! a recursion. Their number is bounded: of more, the one that waits for longest is forgotten, and whoever forgets it is told so.

use heaplens_format::Addr;

use super::run::LoopRun;

/// Runs that a thread keeps in mind besides the last one of each loop.
const MOST: usize = 256;

/// Where a run is looked for.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct RunIndex {
    /// Of its loop and its frame; 0 for a free slot.
    tag: u32,
    /// When it began to wait, in runs; 0 for one that is over, which is the first to be forgotten.
    since: u32,
}

/// The runs. Zero pages are none.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct SuspendedRuns {
    /// Slots that were ever used: the first ones.
    used: usize,
    /// How many of these were reported to be resident.
    reported: usize,
    clock: u32,
    slots: [RunIndex; MOST],
    runs: [LoopRun; MOST],
}

impl SuspendedRuns {
    pub(super) fn clear(&mut self) {
        self.slots[..self.used].fill(RunIndex::default());
    }

    /// Keeps a run until its frame comes back; the answer is the one that had to go for it.
    pub(super) fn keep(&mut self, run: LoopRun) -> Option<LoopRun> {
        let free = self.slots[..self.used].iter().position(|slot| slot.tag == 0);
        let (at, forgotten) = match free {
            Some(at) => (at, None),
            None if self.used < MOST => {
                self.used += 1;
                (self.used - 1, None)
            }
            None => {
                let oldest = (0..MOST).min_by_key(|&at| self.slots[at].since).unwrap_or(0);
                (oldest, Some(self.runs[oldest]))
            }
        };
        self.clock = self.clock.wrapping_add(1).max(1);
        let since = if run.is_over() { 0 } else { self.clock };
        self.slots[at] = RunIndex { tag: tag(run.record, run.frame), since };
        self.runs[at] = run;
        forgotten
    }

    /// Takes the run of a loop in a frame out.
    pub(super) fn take(&mut self, record: u32, frame: u64) -> Option<LoopRun> {
        let wanted = tag(record, frame);
        let is_it = |&at: &usize| {
            let run = &self.runs[at];
            self.slots[at].tag == wanted && (run.record, run.frame) == (record, frame)
        };
        let at = (0..self.used).find(is_it)?;
        self.slots[at] = RunIndex::default();
        Some(self.runs[at])
    }

    /// How many runs of a loop have iterations to come, as far as is known.
    pub(super) fn unfinished(&self, record: u32) -> u32 {
        self.all().filter(|run| run.record == record && run.left != 0).count() as u32
    }

    /// Changes the runs whose counter is in a block.
    pub(super) fn with_counter_in(&mut self, block: Addr, mut change: impl FnMut(&mut LoopRun)) {
        for (slot, run) in self.slots[..self.used].iter_mut().zip(&mut self.runs) {
            if slot.tag != 0 && run.counter.block == block.get() {
                change(run);
                slot.since = if run.is_over() { 0 } else { slot.since };
            }
        }
    }

    /// Bytes that were touched since this was last asked.
    pub(super) fn newly_resident(&mut self) -> u64 {
        let bytes = |slots: usize| (slots * size_of::<LoopRun>()).next_multiple_of(4096) as u64;
        let grown = bytes(self.used) - bytes(self.reported);
        self.reported = self.used;
        grown
    }

    fn all(&self) -> impl Iterator<Item = &LoopRun> {
        let waiting = self.slots[..self.used].iter().zip(&self.runs);
        waiting.filter(|(slot, _)| slot.tag != 0).map(|(_, run)| run)
    }
}

/// Never 0. Frames lie apart by more than 16 bytes.
fn tag(record: u32, frame: u64) -> u32 {
    let mixed = (frame >> 4 ^ u64::from(record) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_cpython::iterators::Counter;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::collections::BTreeMap;

    fn none() -> Box<SuspendedRuns> {
        // SAFETY: every field is a number or a flag, for which zero is a value.
        unsafe { Box::new_zeroed().assume_init() }
    }

    fn run(record: u32, frame: u64) -> LoopRun {
        let mut counter = Counter::default();
        counter.block = frame + 8;
        LoopRun { record, frame, iterator: 1, left: 5, counter, ..LoopRun::default() }
    }

    proptest! {
        /// The naive model is a map by loop and frame. There are too few of them to be forgotten.
        #[test]
        fn a_run_comes_back_with_its_frame(
            steps in prop::collection::vec((1u32..4, 1u64..60, any::<bool>()), 1..400)
        ) {
            let (mut runs, mut model) = (none(), BTreeMap::new());
            for (record, frame, keeps) in steps {
                let (frame, known) = (16 * frame, model.remove(&(record, 16 * frame)));
                prop_assert_eq!(runs.take(record, frame).map(|run| run.frame), known);
                if keeps {
                    prop_assert!(runs.keep(run(record, frame)).is_none());
                    model.insert((record, frame), frame);
                }
                let unfinished = model.keys().filter(|(of, _)| *of == record).count();
                prop_assert_eq!(runs.unfinished(record) as usize, unfinished);
            }
        }
    }

    #[test]
    fn the_run_that_waits_for_longest_is_forgotten_and_said_to_be() {
        let mut runs = none();
        let kept = (1..=MOST as u64).filter(|frame| runs.keep(run(1, 16 * frame)).is_some()).count();
        assert_eq!(kept, 0);
        assert_eq!(runs.keep(run(2, 16)).map(|run| (run.record, run.frame)), Some((1, 16)));
        assert!(runs.take(1, 16).is_none());
        assert!(runs.take(1, 32).is_some() && runs.take(2, 16).is_some());
    }

    #[test]
    fn a_run_that_is_over_is_forgotten_before_any_other() {
        let mut runs = none();
        (1..=MOST as u64).for_each(|frame| assert!(runs.keep(run(1, 16 * frame)).is_none()));
        runs.with_counter_in(Addr::new(16 * 9 + 8), |run| {
            (run.iterator, run.left, run.counter) = (0, 0, Counter::default());
        });
        assert_eq!(runs.unfinished(1) as usize, MOST - 1);
        assert_eq!(runs.keep(run(1, 16 * 5000)).map(|run| run.frame), Some(16 * 9));
    }

    #[test]
    fn only_what_was_used_is_resident() {
        let mut runs = none();
        assert_eq!(runs.newly_resident(), 0);
        runs.keep(run(1, 16));
        assert_eq!((runs.newly_resident(), runs.newly_resident()), (4096, 0));
    }
}
