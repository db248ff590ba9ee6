//! Stopping the threads of a process with ptrace, and system calls in the name of a stopped one. Nothing in the process is
//! changed for good, whatever happens to the recorder meanwhile. What it is done for is decided elsewhere (`snapshot`).
//!
//! ```text
//!   ptrace ◀── restart ◀── threads ◀── trampoline ◀── inject          tracer: the thread that all of it runs in
//! ```

mod inject;
mod ptrace;
mod restart;
mod threads;
mod tracer;
mod trampoline;

pub(crate) use inject::{Injector, Owner, Task};
pub use threads::NotStopped;
pub(crate) use threads::{StoppedThread, TIMEOUT, TIMEOUT_ASKED, TIMEOUT_AT_END, Threads};
pub(crate) use tracer::Tracer;
pub(crate) use trampoline::Trampoline;
