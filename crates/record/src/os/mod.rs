//! What the operating system offers, as safe functions: signals, children, clocks, `/proc`, and memory of other processes. It
//! decides nothing and knows nothing of runs or snapshots.

pub(crate) mod children;
pub(crate) mod clocks;
mod connection;
pub(crate) mod memory;
pub(crate) mod procfs;
mod refusal;
mod served;
pub(crate) mod shared_words;
mod signals;
mod stopwatch;

pub(crate) use children::Reaped;
pub(crate) use connection::{Connection, wait};
pub(crate) use refusal::is_refusal;
pub(crate) use served::ServedMemory;
pub(crate) use signals::{Arrived, HeldSignals};
pub(crate) use stopwatch::{Stopwatch, since};
