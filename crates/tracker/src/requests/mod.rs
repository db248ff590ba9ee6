//! What the recorder asks of the program and the program of the recorder, through words of the arena: marks, tests of what comes
//! back, ledgers, heap snapshots. It reads no heap: that is done from the outside.

pub mod answer;
pub mod ledger;
mod self_fork;
mod serve;
mod snapshot;
mod trampoline;

pub use snapshot::request;
pub use trampoline::offer as offer_trampoline;
