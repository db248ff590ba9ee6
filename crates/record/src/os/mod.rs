//! What the operating system offers, as safe functions: signals, children, clocks, `/proc`, and memory of other processes. This room
//! decides nothing and knows nothing of runs, arenas or snapshots.

mod connection;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod procfs;
mod served;
mod stopwatch;

pub(crate) use connection::{Connection, wait};
pub(crate) use served::ServedMemory;
pub(crate) use stopwatch::{Stopwatch, since};
