//! How long a loop is left alone that tells its passes and made enough of them: a small part of a pass, in events.
//!
//! A look asks the kernel for the iterator's words, which costs more than the rest of an event. Passes of many events need
//! few looks: their marks come a little late, and none is missed unless it makes far fewer events than all of the last ones.

use super::iterations::LoopStep;

/// Looks at each pass, at least; where a pass has no more events than this, each of them is a look.
const LOOKS_PER_PASS: u32 = 8;

/// The length of a pause is learnt from the smallest of the last 16 to 32 passes.
const PASSES: u32 = 16;

/// A loop that was looked at, inside of which no other is to be looked at.
pub(super) struct Settled {
    pub(super) record: u32,
    /// What it did since the last look.
    pub(super) step: LoopStep,
}

/// The events until the next look. Zero is none.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Pause {
    /// The loop; 0 where none is to be left alone.
    record: u32,
    /// What is left of it.
    left: u32,
    /// Passes in the present batch.
    passes: u32,
    /// The least events that a pass of it had.
    least: u32,
    /// And of the batch before; 0 in the first one.
    least_before: u32,
    /// Events since the loop's last pass was seen.
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

    /// Loops were looked at, and this one settles it; `None`: there is no such loop.
    pub(super) fn begin(&mut self, settled: Option<Settled>) {
        let Some(settled) = settled else { return *self = Self::default() };
        match settled.step {
            LoopStep::Passed(_) if settled.record != self.record => *self = Self::of(settled.record),
            LoopStep::Entered(_) => *self = Self::of(settled.record),
            LoopStep::Passed(0) => {}
            LoopStep::Passed(passes) => self.learn((u64::from(self.events) / passes) as u32),
        }
        self.left = self.least.min(self.least_before) / LOOKS_PER_PASS;
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

    /// A pass had so many events.
    fn learn(&mut self, events: u32) {
        self.events = 0;
        self.least = if self.passes == 0 { events } else { self.least.min(events) };
        self.passes += 1;
        if self.passes == PASSES {
            (self.passes, self.least_before) = (0, self.least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many events are looks at a loop, of which one pass was seen with the last of them.
    fn looks(pause: &mut Pause, events: u32) -> u32 {
        let mut looks = 0;
        for event in 1..=events {
            if !pause.lasts() || event == events {
                looks += 1;
                let step = LoopStep::Passed(u64::from(event == events));
                pause.begin(Some(Settled { record: 0, step }));
            }
        }
        looks
    }

    #[test]
    fn a_pass_of_few_events_is_looked_at_with_each_and_one_of_many_some_times() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_eq!(looks(&mut pause, 7), 7));
        (0..2 * PASSES).for_each(|_| assert!(looks(&mut pause, 8000) > 0));
        (0..40).for_each(|_| assert_eq!(looks(&mut pause, 8000), 8));
        assert!(looks(&mut pause, 80) < 3);
        assert_eq!(looks(&mut pause, 80), 8);
    }

    #[test]
    fn small_passes_among_large_ones_are_all_looked_at() {
        let mut pause = Pause::default();
        for pass in 0..200u32 {
            let events = if pass.is_multiple_of(9) { 1 } else { 500 };
            assert_eq!(looks(&mut pause, events), events);
        }
    }

    #[test]
    fn a_loop_that_begins_anew_is_looked_at_with_each_event_again() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_ne!(looks(&mut pause, 8000), 0));
        pause.begin(Some(Settled { record: 0, step: LoopStep::Entered(1) }));
        assert!(!pause.lasts());
        pause.begin(None);
        assert!(!pause.lasts());
    }

    #[test]
    fn what_comes_after_a_loop_is_looked_at_with_each_event() {
        let mut pause = Pause::default();
        (0..40).for_each(|_| assert_ne!(looks(&mut pause, 8000), 0));
        pause.end(7);
        assert!(pause.lasts(), "another one ended");
        pause.end(0);
        assert!(!pause.lasts());
    }
}
