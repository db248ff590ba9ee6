//! The ledger: where every resident byte of a living process is, counted by pages from the outside, from time to time and
//! once more at the end, when the agent waits for it.

mod areas;
mod blocks;
mod claim;
mod copied;
mod heaps;
mod images;
mod keep;
mod objects;
mod own;
mod pages;
mod pools;
mod root_set;
mod sites;
mod space;
mod stacks;
mod tables;
mod take;

pub(crate) use copied::Copied;
pub(crate) use keep::{Ledgers, Reading};
pub(crate) use pages::{PAGE, Pagemap};
pub(crate) use root_set::{FrozenHeap, SeenThreads, UNREADABLE, incomplete, refusal};
pub(crate) use tables::Tables;
pub(crate) use take::Subject;
