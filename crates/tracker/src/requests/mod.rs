//! What the recorder asks of the program and the program of the recorder, through words of the arena: marks, tests of what comes
//! back, ledgers, heap snapshots. It reads no heap: that is done from the outside.

mod answer;
pub(crate) mod ledger;
mod self_fork;
mod serve;
mod state;
mod trampoline;

pub use state::{Requests, Test};
pub(crate) use trampoline::offer as offer_trampoline;
