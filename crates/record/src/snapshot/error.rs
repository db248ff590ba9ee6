//! Why there is no snapshot of a process. The sentences go into the recording.

use std::io;
use std::time::Duration;

use heaplens_format::Bytes;

use crate::tracing::NotStopped;

/// Why no snapshot of a process can be taken.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Its threads cannot be stopped.
    #[error("its threads cannot be stopped: {0}")]
    Threads(#[from] NotStopped),
    /// Its tables do not list all blocks.
    #[error("{0}")]
    Blocks(&'static str),
    /// Its memory or its arena cannot be read.
    #[error("its memory cannot be read: {0}")]
    Memory(#[from] io::Error),
    /// A seccomp filter may forbid the system calls that a copy needs.
    #[error("it has restricted its system calls (seccomp)")]
    Restricted,
    /// A copy might need more memory than there is.
    #[error("a copy of it may need {} MiB of memory, and only {} MiB are free", needed.get() >> 20, free.get() >> 20)]
    Short {
        /// What is free on the machine and in its control group.
        free: Bytes,
        /// What a copy may need.
        needed: Bytes,
    },
    /// Its threads may not be stopped, and it forks no copy by itself.
    #[error(
        "the kernel does not let us stop its threads ({why}), and it did not fork a copy of itself within {} s: it does not allocate memory",
        timeout.as_secs()
    )]
    Silent {
        /// Why threads do not stop.
        why: io::Error,
        /// The timeout.
        timeout: Duration,
    },
    /// No copy could be forked.
    #[error("cannot fork a copy of it: {0}")]
    Copy(io::Error),
    /// Its agent offers no injection trampoline.
    #[error("its agent cannot be found in its memory")]
    NoTrampoline,
    /// A thread that was abandoned by a killed recorder is still on the trampoline.
    #[error("an earlier snapshot of it was interrupted, and one of its threads may not have returned yet")]
    TrampolineInUse,
    /// It has exited.
    #[error("it exited before the snapshot was taken")]
    Gone,
    /// It waited at its exit, and the wait timed out.
    #[error(
        "the machine is too busy: the program stopped waiting at its exit before Heaplens took the snapshot"
    )]
    GoneOn,
}
