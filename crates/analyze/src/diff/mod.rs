//! What changed between two recordings, or between two moments of one: lines that hold more or less, the ledger, the totals.
//! Addresses and line numbers of two recordings are strangers to each other, so lines are matched by their names. What cannot
//! be compared is said in a note and left out; all else is compared.

mod change;
mod compare;
mod lines;
mod matching;
mod moment;
mod note;

pub use change::{Change, Diff, LedgerChange, LineChange, ResidentChange, Total};
pub use compare::{of_moments, of_recordings};
pub use lines::Sources;
pub use moment::{Moment, NoSuchMoment, Side};
pub use note::Note;
