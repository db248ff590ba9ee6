//! What libraries do that is no memory and explains it: operations that are added to a graph, sessions that are made. Each
//! event is counted for the stack that it comes from, as the blocks of a site are: a counter is a site whose allocation kind
//! ([`super::Pseudo`]) says what it counts, in blocks of no bytes, and marks find its values as they find those of memory.
//!
//! Which counters there are is not known here: whoever counts gives one a name when the program runs, and gets a number for it.
//! The table of names is in the arena; the number means nothing outside of its process.
//!
//! What can only be said in words ("its argument was another") is a note: few of them, each of one counter.

use super::frame::{FRAME_PSEUDO_MODULE, split_frame};
use crate::atomic::{AtomicU32, AtomicU64};

/// Never counted, only noted: why Python's collector does not come by itself.
pub const COLLECTOR_HELD: &str = "reasons why the collector does not come";
/// Never counted, only noted: what a probe would count cannot be counted in this version of a library.
pub const UNAVAILABLE: &str = "probes that are not available";

/// The most counters of a process.
pub const MOST_COUNTERS: usize = 128;
/// Longer names are none.
pub const LONGEST_NAME: usize = 64;

/// Frames that say what is counted begin here: what is below is a kind of memory, or of the end of a stack.
const FIRST_FRAME: u8 = 64;
const _: () = assert!(FIRST_FRAME as usize + MOST_COUNTERS <= u8::MAX as usize);

/// The number of a counter in its process, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CounterId(u8);

impl CounterId {
    /// From a number; `None` where no counter can have it.
    pub const fn new(number: u64) -> Option<Self> {
        if number >= 1 && number <= MOST_COUNTERS as u64 { Some(Self(number as u8)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0 as u32
    }

    /// The number of the pseudo frame that stands below the stacks that it is counted for.
    #[inline(always)]
    pub(super) const fn pseudo_number(self) -> u8 {
        FIRST_FRAME + self.0
    }

    /// The counter that a frame stands for.
    pub const fn from_frame(frame: u64) -> Option<Self> {
        match split_frame(frame) {
            (FRAME_PSEUDO_MODULE, number) if number > FIRST_FRAME as u64 => {
                Self::new(number - FIRST_FRAME as u64)
            }
            _ => None,
        }
    }
}

/// Words about a counter: its name in COUNTERS, what was noted about it in NOTES. The first is record 0.
#[derive(Debug, Default)]
#[repr(C)]
pub struct NoteRecord {
    /// The text: offset in STRINGS in the high, length in the low half.
    pub text: AtomicU64,
    /// [`CounterId`] as a number; stored last, 0 while the record is being written.
    pub counter: AtomicU32,
    unused: AtomicU32,
}

/// The size of a [`NoteRecord`].
pub const NOTE_SIZE: usize = 16;
const _: () = assert!(size_of::<NoteRecord>() == NOTE_SIZE);
/// The most notes of a process.
pub const MOST_NOTES: usize = 1024;
/// Longer ones are cut.
pub const LONGEST_NOTE: usize = 240;

#[cfg(test)]
mod tests {
    use super::super::Pseudo;
    use super::*;

    #[test]
    fn a_counter_is_known_by_its_number_and_by_its_frame() {
        for number in 1..=MOST_COUNTERS as u64 {
            let counter = CounterId::new(number).unwrap();
            let kind = Pseudo::Counter(counter);
            assert_eq!(u64::from(counter.get()), number);
            assert_eq!(CounterId::from_frame(kind.frame()), Some(counter));
            assert_eq!(Pseudo::from_frame(kind.frame()), Some(kind));
        }
        assert_eq!((CounterId::new(0), CounterId::new(1 + MOST_COUNTERS as u64)), (None, None));
        assert_eq!(CounterId::from_frame(Pseudo::Break.frame()), None);
    }
}
