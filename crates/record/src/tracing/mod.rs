//! Stopping the threads of a process with ptrace, and system calls in the name of one that stands still. What it is done for is decided
//! elsewhere (`snapshot`).

pub(crate) mod inject;
pub(crate) mod ptrace;
pub(crate) mod threads;
pub(crate) mod trampoline;
