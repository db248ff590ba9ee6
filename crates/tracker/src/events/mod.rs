//! Events of the program, from the hook's guard to the tables: each file has the methods of the tracker for one kind of them. Nothing
//! below knows them.

mod counters;
mod heap;
mod leak_check;
mod limits;
mod mappings;
mod marks;
mod naming;
mod objects;
mod operations;
mod pools;
mod snapshot;

pub use heap::Claimed;
pub use mappings::MappingKind;
pub use objects::ClaimedObject;
