//! From arenas and readings to the processes of a recording. It watches nothing.

mod known;
mod lifetime;
mod processes;
mod resident;
mod unchecked;

pub(crate) use known::Known;
pub use processes::Warning;
pub(crate) use processes::{processes, unix_time_of};
pub(crate) use unchecked::Inspected;
