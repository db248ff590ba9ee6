//! The part of heap snapshots that is inside the program: asking for one, forking a copy where nobody may stop threads, and the
//! injection trampoline by which the recorder has a thread make a system call. It reads no heap: that is done from the outside.

mod request;
mod self_fork;
mod serve;
mod trampoline;

pub use request::request;
pub use trampoline::offer as offer_trampoline;
