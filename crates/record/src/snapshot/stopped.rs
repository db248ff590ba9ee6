//! The snapshot of a process that waits at its exit: its threads are stopped, and its own memory is read. It goes on when the snapshot
//! is dropped.

use std::fs::File;

use heaplens_format::{Nanos, Pid};
use heaplens_snapshot::{Missing, Snapshot};

use super::error::SnapshotError;
use super::frozen::FrozenProcess;
use crate::arena::Tables;
use crate::ledger::{SeenThreads, Subject, UNREADABLE};
use crate::tracing::{TIMEOUT_AT_END, Threads, Tracer};

/// Stops a process and takes the snapshot.
pub(crate) fn stop(process: Pid, subject: &mut Subject, arena: &File) -> Result<Snapshot, SnapshotError> {
    let stop = move || -> Result<_, SnapshotError> {
        let threads = Threads::stop(process, TIMEOUT_AT_END)?;
        Ok((threads.all().to_vec(), threads))
    };
    let (threads, tracer) = Tracer::start(stop)?;
    let tables = Tables::open(arena).ok_or(SnapshotError::Blocks(UNREADABLE))?;
    let frozen = FrozenProcess {
        program: process,
        process: subject.process(),
        threads: SeenThreads::All(&threads),
        pause: Nanos::default(),
        missing: Missing::default(),
        keeper: Box::new(tracer),
    };
    frozen.snapshot(subject, &tables)
}
