//! The ledger: where every resident byte of a living process is, counted by pages from the outside, from time to time and
//! once more at the exit, when the agent waits for it. The root set of a snapshot is read off the same pages.

mod inherited;
mod keep;
mod pools;
mod root_set;
mod sites;
mod take;

pub(crate) use keep::{Ledgers, Reading};
pub(crate) use root_set::{FrozenHeap, SeenThreads, UNREADABLE, incomplete, refusal};
pub(crate) use take::Subject;
