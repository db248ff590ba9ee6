//! Marks: moments that the live bytes of every site are kept for. A loop's iteration, a word of the user's, the end of a script, or
//! a moment of the recorder's own in a program that makes none.
//!
//! A site writes nothing at a mark. At its first change after one, the value that it had all the while goes into CHANGES, so
//! that a mark costs what changed since the one before and no more:
//!
//! ```text
//!   marks        1        2        3        4                CHANGES of the site
//!   live      5 ─┼────────┼─ 9 ────┼────────┼─ 2 ──▶         (2, 5)   until mark 2 it had 5
//!                                                            (4, 9)   until mark 4 it had 9; from then on what it has now
//! ```

use crate::atomic::{AtomicU32, AtomicU64};

/// How many marks there were, and the peak of the live bytes: whatever a site keeps a value for, in one word, so that an
/// event compares once.
///
/// ```text
///   │ 63 … 44 marks │ 43 … 0 bytes at the peak │       both only ever rise, hence so does the word
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Moment(u64);

const PEAK_BITS: u32 = 44;
const PEAK_MASK: u64 = (1 << PEAK_BITS) - 1;

impl Moment {
    /// What is added for one more mark.
    pub const ONE_MARK: u64 = 1 << PEAK_BITS;
    /// The most marks that can be distinguished.
    pub const MOST_MARKS: u32 = (1 << (64 - PEAK_BITS)) - 2;

    /// From the raw word.
    #[inline(always)]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The raw word.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Marks so far.
    #[inline(always)]
    pub const fn mark(self) -> u32 {
        (self.0 >> PEAK_BITS) as u32
    }

    /// The peak in bytes.
    #[inline(always)]
    pub const fn peak(self) -> u64 {
        self.0 & PEAK_MASK
    }

    /// The same with another peak; one beyond 16 TiB is stored as 16 TiB.
    #[inline(always)]
    pub const fn with_peak(self, peak: u64) -> Self {
        let peak = if peak > PEAK_MASK { PEAK_MASK } else { peak };
        Self(self.0 & !PEAK_MASK | peak)
    }
}

/// What a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MarkTag {
    /// An iteration of a loop.
    Iteration = 1,
    /// The user's own, by `heaplens.mark` or a signal to the recorder.
    User = 2,
    /// The script is through; what comes is Python's own clean-up.
    EndOfScript = 3,
    /// A reclaim test begins.
    BeforeTest = 4,
    /// Python's collector was run.
    Collected = 5,
    /// The allocator was asked to give its free memory back.
    Trimmed = 6,
    /// The recorder took a reading: it makes these marks itself, from the outside.
    Interval = 7,
    /// A framework ran what a native program gave it to run.
    Run = 8,
    /// A section was opened ([`super::section`]): its number in `of_loop`, its pass in `number`.
    SectionBegun = 9,
    /// It was closed: likewise.
    SectionEnded = 10,
}

impl MarkTag {
    /// From the number.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Iteration),
            2 => Some(Self::User),
            3 => Some(Self::EndOfScript),
            4 => Some(Self::BeforeTest),
            5 => Some(Self::Collected),
            6 => Some(Self::Trimmed),
            7 => Some(Self::Interval),
            8 => Some(Self::Run),
            9 => Some(Self::SectionBegun),
            10 => Some(Self::SectionEnded),
            _ => None,
        }
    }
}

/// A mark; the first has number 1. Record 0 is the latest mark of the user's, or run of a
/// session, that was not kept, where they are many. Whoever
/// makes one, agent or recorder, takes its number first ([`Moment::ONE_MARK`]) and then writes the record, which is its own.
#[derive(Debug, Default)]
#[repr(C)]
pub struct MarkRecord {
    /// [`MarkTag`] as a number; 0 while the record is being written.
    pub kind: AtomicU32,
    /// The loop whose iteration it is.
    pub of_loop: AtomicU32,
    /// The iterations of that loop, this one included; the number of the user's mark or of the run; the resident bytes of the
    /// program in a test.
    pub number: AtomicU64,
    /// Monotonic clock.
    pub at_ns: AtomicU64,
    /// Live heap bytes.
    pub live_bytes: AtomicU64,
    /// What the user calls it: offset in STRINGS in the high, length in the low half.
    pub label: AtomicU64,
}

/// The size of a [`MarkRecord`].
pub const MARK_SIZE: usize = 40;
const _: () = assert!(size_of::<MarkRecord>() == MARK_SIZE);

/// What a record of SITES had until a mark.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ChangeRecord {
    /// Live bytes: signed, since one record of a site may free what the other allocated.
    pub live_bytes: AtomicU64,
    /// Live blocks, likewise.
    pub live_blocks: AtomicU64,
    /// The record of SITES.
    pub record: AtomicU32,
    /// The last mark at which it had them; stored last, 0 in an entry that is not whole.
    pub mark: AtomicU32,
}

/// The size of a [`ChangeRecord`].
pub const CHANGE_SIZE: usize = 24;
const _: () = assert!(size_of::<ChangeRecord>() == CHANGE_SIZE);

/// A loop of the user's code in one thread. Record 0 stands for "none".
#[derive(Debug, Default)]
#[repr(C)]
pub struct LoopRecord {
    /// The code object in the high, the loop's first instruction in the low half; 0 while the record is being written.
    pub location: AtomicU64,
    /// Its last instruction.
    pub last: AtomicU32,
    /// `LOOP_*`.
    pub flags: AtomicU32,
    /// The loop around it, in whatever function that is; 0 where there is none.
    pub parent: AtomicU32,
    /// The thread slot.
    pub slot: AtomicU32,
    /// Iterations that began.
    pub iterations: AtomicU64,
    /// How often it was entered.
    pub runs: AtomicU64,
    /// Iterations that were to come when it was last seen, at least, in all its frames; 0 when its iterators were freed, `u64::MAX` where it is
    /// not known.
    pub left: AtomicU64,
    /// When it was first seen, by the monotonic clock.
    pub first_ns: AtomicU64,
    /// When its last mark was made, or an iterator of it was freed after that.
    pub last_ns: AtomicU64,
}

/// A Python program that neither made a mark nor imported anything for this long gets marks from the recorder, in nanoseconds.
pub const QUIET_NS: u64 = 2_000_000_000;

/// A loop with so many iterations is the main loop, unless a loop around it has as many.
pub const ENOUGH_ITERATIONS: u64 = 20;

/// From so many marks on growth is judged, so from so many on a reclaim test is made.
pub const ENOUGH_TO_JUDGE: u64 = 10;

/// The size of a [`LoopRecord`].
pub const LOOP_SIZE: usize = 64;
const _: () = assert!(size_of::<LoopRecord>() == LOOP_SIZE);

/// Iterations were counted by an iterator, not guessed from where the code was.
pub const LOOP_COUNTED: u32 = 1;
/// Some iterations may not be in the count.
pub const LOOP_UNSURE: u32 = 2;
/// Others may take items from its iterator, which then does not count the iterations of the loop alone.
pub const LOOP_SHARED: u32 = 4;
/// Runs of it were suspended for so long, and among so many, that they were forgotten: what comes back may be one of them.
pub const LOOP_FORGOTTEN: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_rises_with_either_part() {
        let moment = Moment::default().with_peak(77);
        let marked = Moment::from_raw(moment.raw() + Moment::ONE_MARK);
        assert_eq!((marked.mark(), marked.peak()), (1, 77));
        assert!(marked > moment && marked.with_peak(78) > marked);
        assert_eq!(marked.with_peak(u64::MAX).mark(), 1);
    }
}
