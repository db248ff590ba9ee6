//! Operations of frameworks: the line that made one is kept under its name (`thread::work`).

use heaplens_format::Loss;

use crate::lifecycle::is_recording;
use crate::python::{Line, Maker};
use crate::thread::annotation::LONGEST;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;

impl Tracker {
    /// The user's code has made an operation of this name, here or at a line that the caller knows. Whether that was all: else the
    /// line must be given, since the code that runs was made after the user's.
    #[cold]
    pub fn on_operation(&self, name: &[u8], at: Option<Line<'_>>) -> bool {
        let Some(guard) = Guard::enter(Nesting::Never) else { return true };
        if !is_recording(&guard) || name.is_empty() || name.len() > LONGEST {
            return true;
        }
        let (Some(slot), Some(thread)) = (guard.slot(), self.python().thread()) else { return true };
        let maker = match at {
            Some(line) => slot.python.maker_at(&self.arena, &self.trie, line),
            None => match slot.python.maker(thread, &self.arena, &self.trie) {
                Maker::Known(maker) => Some(maker),
                Maker::Rewritten => return false,
                Maker::Nobody => return true,
            },
        };
        if maker.and_then(|maker| self.work.keep(&self.arena, &self.trie, name, maker)).is_none() {
            self.arena.lose(Loss::ArenaFull);
        }
        true
    }
}
