//! Events of the program, from the hook's guard to the tables: each file has the methods of the tracker for one kind of them. Nothing
//! below knows them.

mod checks;
mod counters;
mod errors;
mod faults;
mod heap;
mod leak_check;
mod limits;
mod mappings;
mod marks;
mod naming;
mod objects;
mod operations;
mod pools;
mod sections;
mod snapshot;

pub use checks::{AfterFree, DEFAULT_ALIGNMENT, Wanted, next_turn};
pub use errors::Freeing;
pub use faults::{Access, FaultAnswer};
pub use heap::Claimed;
pub use mappings::MappingKind;
pub use objects::ClaimedObject;
