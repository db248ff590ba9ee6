//! What a process did wrong with memory: each error with its stacks by value, so that errors that another engine found fit in, and with
//! the sentences that Memcheck has for it.

mod analysed;
mod canaries;
mod of_process;
mod sentences;

pub use analysed::{AnalysedError, ChangedBetween, Engine, ErrorSection, MemoryErrors};
pub(crate) use of_process::of;
