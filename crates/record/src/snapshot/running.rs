//! The snapshot of a program that runs on, of a forked copy or a self-forked one.

use std::time::Duration;

use heaplens_snapshot::Snapshot;

use super::error::SnapshotError;
use super::feasible::Program;
use super::{forked, self_forked};
use crate::os::is_refusal;
use crate::tracing::NotStopped;

/// Takes a snapshot of a copy that is forked in the program, or, where nobody may stop its threads, of one that the program forks
/// itself. With a timeout for stopping its threads.
pub(crate) fn copy(program: &Program<'_>, timeout: Duration) -> Result<Snapshot, SnapshotError> {
    match forked::take(program, timeout) {
        Err(SnapshotError::Threads(NotStopped::Refused(why))) if is_refusal(&why) => {
            self_forked::take(program, why)
        }
        taken => taken,
    }
}
