//! How long a loop is left alone that reports its iterations and made enough of them: a small part of an iteration, in events.
//!
//! An inspection asks the kernel for the iterator's words, which costs more than the rest of an event. Iterations of many events need
//! few inspections: their marks come a little late, and none is missed unless it makes far fewer events than all of the last ones.

use super::iterations::LoopStep;

/// Inspections of each iteration, at least; where an iteration has no more events than this, each of them is one.
const INSPECTIONS_PER_ITERATION: u32 = 8;

/// The length of a pause is learnt from the smallest of the last 16 to 32 iterations.
const ITERATIONS: u32 = 16;

/// A loop that was inspected, inside of which no other is to be inspected.
pub(super) struct Settled {
    pub(super) record: u32,
    /// What it did since the last inspection.
    pub(super) step: LoopStep,
}

/// The events until the next inspection. Zero is none.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Pause {
    /// The loop; 0 where none is to be left alone.
    record: u32,
    /// What is left of it.
    left: u32,
    /// Iterations in the present batch.
    iterations: u32,
    /// The least events that an iteration of it had.
    least: u32,
    /// And of the batch before; 0 in the first one.
    least_before: u32,
    /// Events since the loop's last iteration was seen.
    events: u32,
}

impl Pause {
    /// Whether the event falls into it.
    #[inline]
    pub(super) fn lasts(&mut self) -> bool {
        self.events = self.events.saturating_add(1);
        let lasts = self.left != 0;
        self.left = self.left.saturating_sub(1);
        lasts
    }

    /// Loops were inspected, and this one settles it; `None`: there is no such loop.
    pub(super) fn begin(&mut self, settled: Option<Settled>) {
        let Some(settled) = settled else { return *self = Self::default() };
        match settled.step {
            LoopStep::Advanced(_) if settled.record != self.record => *self = Self::of(settled.record),
            LoopStep::Entered(_) => *self = Self::of(settled.record),
            LoopStep::Advanced(0) => {}
            // A loop that is left alone counts its items, and does not look for them.
            LoopStep::Seeking(_) => {}
            LoopStep::Advanced(iterations) => self.learn((u64::from(self.events) / iterations) as u32),
        }
        self.left = self.least.min(self.least_before) / INSPECTIONS_PER_ITERATION;
    }

    /// A loop is over: if it was this one, there is none to leave alone.
    pub(super) fn end(&mut self, record: u32) {
        if self.record == record {
            *self = Self::default();
        }
    }

    fn of(record: u32) -> Self {
        Self { record, ..Self::default() }
    }

    /// An iteration had so many events.
    fn learn(&mut self, events: u32) {
        self.events = 0;
        self.least = if self.iterations == 0 { events } else { self.least.min(events) };
        self.iterations += 1;
        if self.iterations == ITERATIONS {
            (self.iterations, self.least_before) = (0, self.least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many events inspect a loop, of which one iteration was seen with the last of them.
    fn inspections(pause: &mut Pause, events: u32) -> u32 {
        let mut inspections = 0;
        for event in 1..=events {
            if !pause.lasts() || event == events {
                inspections += 1;
                let step = LoopStep::Advanced(u64::from(event == events));
                pause.begin(Some(Settled { record: 0, step }));
            }
        }
        inspections
    }

    #[test]
    fn an_iteration_of_few_events_is_inspected_with_each_and_one_of_many_some_times() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_eq!(inspections(&mut pause, 7), 7));
        (0..2 * ITERATIONS).for_each(|_| assert!(inspections(&mut pause, 8000) > 0));
        (0..40).for_each(|_| assert_eq!(inspections(&mut pause, 8000), 8));
        assert!(inspections(&mut pause, 80) < 3);
        assert_eq!(inspections(&mut pause, 80), 8);
    }

    #[test]
    fn small_iterations_among_large_ones_are_all_inspected() {
        let mut pause = Pause::default();
        for iteration in 0..200u32 {
            let events = if iteration.is_multiple_of(9) { 1 } else { 500 };
            assert_eq!(inspections(&mut pause, events), events);
        }
    }

    #[test]
    fn a_loop_that_begins_anew_is_inspected_with_each_event_again() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_ne!(inspections(&mut pause, 8000), 0));
        pause.begin(Some(Settled { record: 0, step: LoopStep::Entered(1) }));
        assert!(!pause.lasts());
        pause.begin(None);
        assert!(!pause.lasts());
    }

    #[test]
    fn what_comes_after_a_loop_is_inspected_with_each_event() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_ne!(inspections(&mut pause, 8000), 0));
        pause.end(7);
        assert!(pause.lasts(), "another one ended");
        pause.end(0);
        assert!(!pause.lasts());
    }
}
