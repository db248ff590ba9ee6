//! What libraries do that is no memory (`format::arena::counter`): counted at the stack that does it, as a block of no bytes
//! would be, and noted in words where a number does not say it. Whoever counts asks once for a number by a name; which names there
//! are is not known here.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::Region;
use heaplens_format::arena::counter::{
    CounterId, LONGEST_NAME, MOST_COUNTERS, MOST_NOTES, NOTE_SIZE, NoteRecord,
};
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::arena::Arena;

const NAME_WORDS: usize = LONGEST_NAME / 8;

/// The names that were asked for. They outlive the arena: a forked child counts on with the numbers that its parent was given.
#[derive(Debug)]
pub struct Counters {
    count: AtomicU32,
    names: [CounterName; MOST_COUNTERS],
}

#[derive(Debug)]
struct CounterName {
    words: [AtomicU64; NAME_WORDS],
    /// In bytes; 0 while it is being written.
    length: AtomicU32,
    /// Whether it is in the arena.
    is_kept: AtomicBool,
}

impl CounterName {
    const fn new() -> Self {
        Self {
            words: [const { AtomicU64::new(0) }; NAME_WORDS],
            length: AtomicU32::new(0),
            is_kept: AtomicBool::new(false),
        }
    }

    fn set(&self, name: &[u8]) {
        for (word, value) in self.words.iter().zip(words(name)) {
            word.store(value, Relaxed);
        }
        // Release: whoever sees the length sees the name.
        self.length.store(name.len() as u32, Release);
    }

    fn is(&self, name: &[u8]) -> bool {
        self.length.load(Acquire) as usize == name.len()
            && self.words.iter().zip(words(name)).all(|(word, value)| word.load(Relaxed) == value)
    }

    /// Puts it into the arena, once for each arena.
    #[inline]
    fn keep(&self, arena: &Arena, counter: CounterId) {
        if !self.is_kept.load(Relaxed) && !self.is_kept.swap(true, Relaxed) {
            let mut bytes = [0; LONGEST_NAME];
            for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.words) {
                *bytes = word.load(Relaxed).to_le_bytes();
            }
            let length = (self.length.load(Acquire) as usize).min(LONGEST_NAME);
            keep_words(arena, Region::Counters, counter, bytes.get(..length).unwrap_or_default());
        }
    }
}

/// A name as words, with zeros after it.
fn words(name: &[u8]) -> [u64; NAME_WORDS] {
    let mut bytes = [0; LONGEST_NAME];
    bytes.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
    core::array::from_fn(|at| {
        let word: [u8; 8] = core::array::from_fn(|byte| bytes[8 * at + byte]);
        u64::from_le_bytes(word)
    })
}

impl Counters {
    /// None was asked for yet.
    pub const fn new() -> Self {
        Self { count: AtomicU32::new(0), names: [const { CounterName::new() }; MOST_COUNTERS] }
    }

    /// In a forked child, whose arena is another.
    pub fn reset(&self) {
        self.names.iter().for_each(|name| name.is_kept.store(false, Relaxed));
    }

    /// The number of the counter of this name, which is a new one if nobody asked for it before. Two threads that ask at the same
    /// moment may get two: outside, counters of one name are one. `None`: there are too many, or this is no name.
    #[cold]
    pub fn number(&self, name: &[u8]) -> Option<CounterId> {
        if name.is_empty() || name.len() > LONGEST_NAME {
            return None;
        }
        let count = (self.count.load(Acquire) as usize).min(MOST_COUNTERS);
        let known = self.names[..count].iter().position(|known| known.is(name));
        let at = match known {
            Some(at) => at,
            None => {
                let next = |count: u32| (count < MOST_COUNTERS as u32).then_some(count + 1);
                let at = self.count.fetch_update(Release, Relaxed, next).ok()? as usize;
                self.names.get(at)?.set(name);
                at
            }
        };
        CounterId::new(at as u64 + 1)
    }

    /// Puts the name of a counter into the arena, once for each arena.
    pub(crate) fn keep(&self, arena: &Arena, counter: CounterId) {
        if let Some(name) = self.names.get((counter.get() as usize).wrapping_sub(1)) {
            name.keep(arena, counter);
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a record of NOTES or of COUNTERS.
pub(crate) fn keep_words(arena: &Arena, region: Region, counter: CounterId, text: &[u8]) -> Option<()> {
    if arena.extent(region).used.load(Relaxed) >= (MOST_NOTES * NOTE_SIZE) as u64 {
        return None;
    }
    let start = arena.take(Region::Strings, text.len() as u64)?;
    let offset = arena.take(region, NOTE_SIZE as u64)?;
    let target = arena.address(Region::Strings, start) as *mut u8;
    // SAFETY: so many bytes were just taken there, and the record beside them.
    let record: &NoteRecord = unsafe {
        core::ptr::copy_nonoverlapping(text.as_ptr(), target, text.len());
        arena.record(region, offset)
    };
    record.text.store((start as u64) << 32 | text.len() as u64, Relaxed);
    // Release: a reader that sees the counter sees a whole record.
    record.counter.store(counter.get(), Release);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use heaplens_format::arena::counter::LONGEST_NOTE;

    #[test]
    fn notes_are_cut_and_beyond_the_last_one_left_out() {
        let arena = scratch();
        let counter = CounterId::new(7).unwrap();
        let long = [b'x'; LONGEST_NOTE];
        (0..2 * MOST_NOTES).for_each(|_| {
            keep_words(&arena, Region::Notes, counter, &long);
        });
        let used = arena.extent(Region::Notes).used.load(Relaxed);
        assert_eq!(used, (MOST_NOTES * NOTE_SIZE) as u64);
        // SAFETY: the last record that was taken.
        let last: &NoteRecord = unsafe { arena.record(Region::Notes, used as usize - NOTE_SIZE) };
        assert_eq!(last.text.load(Relaxed) as u32 as usize, LONGEST_NOTE);
        assert_eq!(last.counter.load(Relaxed), 7);
    }

    #[test]
    fn a_name_has_one_number_and_no_more_names_than_there_is_room_for() {
        let counters = Counters::new();
        let first = counters.number(b"graph operations").unwrap();
        assert_eq!(counters.number(b"graph operations"), Some(first));
        assert_ne!(counters.number(b"graph operations freed"), Some(first));
        assert_eq!((counters.number(b""), counters.number(&[b'x'; LONGEST_NAME + 1])), (None, None));
        let names = (0..).map(|number: u32| std::format!("counter {number}"));
        let given = names.take_while(|name| counters.number(name.as_bytes()).is_some()).count();
        assert_eq!(given, MOST_COUNTERS - 2);
        assert_eq!(counters.number(b"graph operations"), Some(first), "what is known stays so");
    }

    #[test]
    fn a_name_is_in_each_arena_once() {
        let counters = Counters::new();
        let counter = counters.number(b"sessions made").unwrap();
        for _ in 0..2 {
            let arena = scratch();
            (0..3).for_each(|_| counters.keep(&arena, counter));
            assert_eq!(arena.extent(Region::Counters).used.load(Relaxed), NOTE_SIZE as u64);
            // SAFETY: the record that was taken.
            let record: &NoteRecord = unsafe { arena.record(Region::Counters, 0) };
            assert_eq!(record.counter.load(Relaxed), counter.get());
            assert_eq!(record.text.load(Relaxed) as u32 as usize, b"sessions made".len());
            counters.reset();
        }
    }
}
