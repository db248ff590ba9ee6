//! What a snapshot costs the program: the time that it is stopped, and the pages that are copied on write while the copy lives.

use std::time::Instant;

use heaplens_format::{Nanos, Pid};

use super::error::SnapshotError;
use crate::os::procfs;
use crate::tracing::NotStopped;

/// The cost of a copy-on-write page fault, in nanoseconds.
const COST_OF_FAULT: u64 = 2_500;

/// What a snapshot has cost its program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// How long it was stopped.
    pub(super) pause: Nanos,
    /// Page faults because of the copy.
    pub(super) faults: u64,
}

impl Cost {
    /// Of a snapshot that was not taken: while one thread did not stop, the others waited.
    pub(super) fn of_failure(error: &SnapshotError) -> Self {
        match error {
            SnapshotError::Threads(NotStopped::Late { timeout }) => {
                Self { pause: Nanos::new(timeout.as_nanos() as u64), faults: 0 }
            }
            _ => Self::default(),
        }
    }

    /// All of it, in nanoseconds.
    pub(super) fn nanos(self) -> u64 {
        self.pause.get().saturating_add(self.faults.saturating_mul(COST_OF_FAULT))
    }
}

/// Page faults of a program while a copy of it lives, without those that it has anyway.
pub(super) struct Faults {
    process: Pid,
    before: u64,
    /// How long the program had run before.
    ran: Nanos,
    since: Instant,
}

impl Faults {
    /// Counts from now on those of a program that has run so long.
    pub(super) fn begin(process: Pid, ran: Nanos) -> Self {
        Self { process, before: procfs::minor_faults(process).unwrap_or(0), ran, since: Instant::now() }
    }

    /// How many there were.
    pub(super) fn end(&self) -> u64 {
        let all = procfs::minor_faults(self.process).unwrap_or(0).saturating_sub(self.before);
        let usual =
            self.before as f64 * self.since.elapsed().as_nanos() as f64 / self.ran.get().max(1) as f64;
        all.saturating_sub(usual as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracing::TIMEOUT;

    #[test]
    fn threads_that_stop_too_late_cost_what_the_others_waited() {
        assert!(Cost::of_failure(&NotStopped::Late { timeout: TIMEOUT }.into()).pause.get() > 0);
        assert_eq!(Cost::of_failure(&SnapshotError::Gone).pause.get(), 0);
    }
}
