//! What libraries do that is no memory: counted at the caller's stack, or noted in words.

use heaplens_format::Loss;
use heaplens_format::arena::counter::{CounterId, LONGEST_NOTE};
use heaplens_format::arena::{Pseudo, Region};

use crate::lifecycle::is_recording;
use crate::tables::counters::keep_words;
use crate::tables::sites::{self, Tally};
use crate::tables::weight::Weight;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;
use crate::unwind::Caller;

impl Tracker {
    /// It happened so many times more, for this caller.
    #[cold]
    pub fn on_count(&self, counter: CounterId, times: u64, caller: Caller) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if !is_recording(&guard) {
            return;
        }
        self.counters.keep(&self.arena, counter);
        let weight = Weight { bytes: 0, blocks: times };
        match self.site_on(&guard, caller, Pseudo::Counter(counter)) {
            Some(site) => sites::on_alloc(&self.arena, site, guard.slot_id(), weight, Tally::Apart),
            None => self.arena.lose(Loss::ArenaFull),
        }
    }

    /// Keeps words about it; those that find no room are not worth a loss: what they are about is counted.
    #[cold]
    pub fn on_note(&self, counter: CounterId, text: &[u8]) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if is_recording(&guard) {
            self.counters.keep(&self.arena, counter);
            keep_words(&self.arena, Region::Notes, counter, &text[..text.len().min(LONGEST_NOTE)]);
        }
    }
}
