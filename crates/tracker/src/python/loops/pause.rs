//! How long a loop is left alone that tells its passes and made enough of them: a small part of what is to come before its
//! next mark or its end, in events.
//!
//! A look asks the kernel for the iterator's words, which costs more than the rest of an event. A pass of many events needs
//! few looks, and so do the passes between two marks: the mark comes a little late. Near the end of the loop looks come close
//! again, so that its last pass is seen and the count is exact.

use super::passes::Step;
use super::records::note_going_on;
use crate::arena::Arena;

/// Looks from one mark to the next, at least; where there are no more events than this between them, each is a look.
const LOOKS: u64 = 8;

/// Parts of an event that a pause is counted in: a pass may have less than one.
const SCALE: u64 = 1 << 10;

/// A loop that was looked at, inside of which no other is to be looked at.
pub(super) struct Settled {
    pub(super) record: u32,
    /// What it did since the last look.
    pub(super) step: Step,
    /// Passes from one mark to the next.
    pub(super) stride: u64,
    /// Passes that are left; `u64::MAX` where it is not known.
    pub(super) left: u64,
}

impl Settled {
    /// Passes of which none needs to be seen by itself. Where the end cannot be foreseen, each is: the count is exact only
    /// then.
    fn free_passes(&self) -> u64 {
        if self.left == u64::MAX { 1 } else { self.stride.min(self.left).max(1) }
    }
}

/// The events until the next look. Zero is none.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Pause {
    /// The loop; 0 where none is to be left alone.
    record: u32,
    /// How long it is for one pass of the loop, in parts of an event.
    per_pass: u64,
    /// What is left of it.
    left: u32,
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
    pub(super) fn begin(&mut self, arena: &Arena, settled: Option<Settled>) {
        let Some(settled) = settled else { return *self = Self::default() };
        match settled.step {
            Step::Passed(_) if settled.record != self.record => *self = Self::of(settled.record),
            Step::Entered(_) => *self = Self::of(settled.record),
            Step::Passed(0) => {}
            Step::Passed(passes) => {
                self.per_pass = u64::from(self.events) * SCALE / passes / LOOKS;
                self.events = 0;
            }
        }
        let events = self.per_pass.saturating_mul(settled.free_passes()) / SCALE;
        self.left = u32::try_from(events).unwrap_or(u32::MAX);
        if self.left != 0 {
            note_going_on(arena, settled.record); // perhaps into a pass that no look sees
        }
    }

    fn of(record: u32) -> Self {
        Self { record, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tests::scratch;

    fn seen(passes: u64, left: u64) -> Option<Settled> {
        Some(Settled { record: 0, step: Step::Passed(passes), stride: 16, left })
    }

    /// How many of so many events are looks at a loop, of which one pass was seen with the last of them.
    fn looks(pause: &mut Pause, events: u32, arena: &Arena) -> u32 {
        let mut looks = 0;
        for event in 1..=events {
            if !pause.lasts() || event == events {
                looks += 1;
                pause.begin(arena, seen(u64::from(event == events), u64::MAX));
            }
        }
        looks
    }

    #[test]
    fn a_pass_of_few_events_is_looked_at_with_each_and_one_of_many_some_times() {
        let (arena, mut pause) = (scratch(), Pause::default());
        (0..10).for_each(|_| assert_eq!(looks(&mut pause, 7, &arena), 7));
        assert_eq!(looks(&mut pause, 8000, &arena), 8000);
        (0..10).for_each(|_| assert_eq!(looks(&mut pause, 8000, &arena), 8));
        assert!(looks(&mut pause, 80, &arena) < 3);
        assert_eq!(looks(&mut pause, 80, &arena), 8);
    }

    /// A loop of so many passes with two events each: how many looks there were, and how many passes the last one saw.
    fn looks_at_whole(passes: u64, arena: &Arena) -> (u64, u64) {
        let (mut pause, mut looks, mut last) = (Pause::default(), 0, 0);
        for pass in (1..=passes).flat_map(|pass| [pass, pass]) {
            if !pause.lasts() {
                pause.begin(arena, seen(pass - last, passes - pass));
                (looks, last) = (looks + 1, pass);
            }
        }
        (looks, last)
    }

    #[test]
    fn few_passes_are_seen_between_two_marks_and_the_last_one_always() {
        let arena = scratch();
        for passes in 1..2000 {
            let (looks, last) = looks_at_whole(passes, &arena);
            assert_eq!(last, passes);
            assert!(looks < passes / 2 + 30, "{looks} of {passes}");
        }
    }

    #[test]
    fn a_loop_that_begins_anew_is_looked_at_with_each_event_again() {
        let (arena, mut pause) = (scratch(), Pause::default());
        (0..2).for_each(|_| assert_ne!(looks(&mut pause, 8000, &arena), 0));
        pause.begin(&arena, seen(0, 8).map(|seen| Settled { step: Step::Entered(1), ..seen }));
        assert!(!pause.lasts());
        pause.begin(&arena, None);
        assert!(!pause.lasts());
    }
}
