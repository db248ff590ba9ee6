//! From arenas and readings to the processes of a recording. This room watches nothing.

mod processes;

pub use processes::Warning;
pub(crate) use processes::{Known, processes, unix_time_of};
