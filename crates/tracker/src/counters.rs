//! What libraries do that is no memory (`format::arena::counter`): counted at the stack that does it, as a block of no bytes
//! would be, and noted in words where a number does not say it.

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_format::Loss;
use heaplens_format::arena::Region;
use heaplens_format::arena::counter::{Counter, LONGEST_NOTE, MOST_NOTES, NOTE_SIZE, Note};

use crate::arena::Arena;
use crate::process;
use crate::seat::{Guard, Nesting};
use crate::sites::{self, Space, Weight};
use crate::tracker::Tracker;
use crate::unwind::Caller;

impl Tracker {
    /// It happened so many times more, for this caller.
    #[cold]
    pub fn on_count(&self, counter: Counter, times: u64, caller: Caller) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if !process::is_recording(&guard) {
            return;
        }
        let weight = Weight { bytes: 0, blocks: times };
        match self.site_on(&guard, caller, counter.ground()) {
            Some(site) => sites::on_alloc(&self.arena, site, guard.seat_id(), weight, Space::Pool),
            None => self.arena.lose(Loss::ArenaFull),
        }
    }

    /// Keeps words about it; those that find no room are not worth a loss: what they are about is counted.
    #[cold]
    pub fn on_note(&self, counter: Counter, text: &[u8]) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if process::is_recording(&guard) {
            keep_note(&self.arena, counter, text);
        }
    }
}

fn keep_note(arena: &Arena, counter: Counter, text: &[u8]) -> Option<()> {
    let text = &text[..text.len().min(LONGEST_NOTE)];
    if arena.extent(Region::Notes).used.load(Relaxed) >= (MOST_NOTES * NOTE_SIZE) as u64 {
        return None;
    }
    let place = arena.take(Region::Strings, text.len() as u64)?;
    let offset = arena.take(Region::Notes, NOTE_SIZE as u64)?;
    let target = arena.address(Region::Strings, place) as *mut u8;
    // SAFETY: so many bytes were just taken there, and the record beside them.
    let record: &Note = unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr(), target, text.len());
        arena.record(Region::Notes, offset)
    };
    record.text.store((place as u64) << 32 | text.len() as u64, Relaxed);
    // Release: a reader that sees the counter sees a whole record.
    record.counter.store(counter as u32, Release);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tests::scratch;

    #[test]
    fn notes_are_cut_and_beyond_the_last_one_left_out() {
        let arena = scratch();
        let long = [b'x'; 2 * LONGEST_NOTE];
        (0..2 * MOST_NOTES).for_each(|_| {
            keep_note(&arena, Counter::FunctionTraced, &long);
        });
        let used = arena.extent(Region::Notes).used.load(Relaxed);
        assert_eq!(used, (MOST_NOTES * NOTE_SIZE) as u64);
        // SAFETY: the last record that was taken.
        let last: &Note = unsafe { arena.record(Region::Notes, used as usize - NOTE_SIZE) };
        assert_eq!(last.text.load(Relaxed) as u32 as usize, LONGEST_NOTE);
        assert_eq!(last.counter.load(Relaxed), Counter::FunctionTraced as u32);
    }
}
