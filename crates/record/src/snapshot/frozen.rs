//! A process whose memory no longer changes, whoever froze it, and the snapshot that is made of it.

use heaplens_format::{Nanos, Pid};
use heaplens_snapshot::{Memory, Missing, Snapshot};

use super::error::SnapshotError;
use super::process_memory::{Keeper, ProcessMemory};
use crate::arena::Tables;
use crate::ledger::{FrozenHeap, SeenThreads, Subject, incomplete};

/// A frozen process: the program itself, or a copy of it.
#[derive(Debug)]
pub(super) struct FrozenProcess<'a> {
    /// The program.
    pub(super) program: Pid,
    /// Whose memory is read.
    pub(super) process: Pid,
    /// Threads of the program.
    pub(super) threads: SeenThreads<'a>,
    /// How long the program was stopped for it.
    pub(super) pause: Nanos,
    /// What could not be seen.
    pub(super) missing: Missing,
    /// Keeps it frozen.
    pub(super) keeper: Box<dyn Keeper>,
}

impl FrozenProcess<'_> {
    /// Reads its blocks and its root set. `subject` is the process whose memory is read, `tables` are those of the program.
    pub(super) fn snapshot(
        self,
        subject: &mut Subject,
        tables: &Tables<'_>,
    ) -> Result<Snapshot, SnapshotError> {
        incomplete(tables).map_or(Ok(()), |why| Err(SnapshotError::Blocks(why)))?;
        let FrozenHeap { blocks, ignored, roots, mappings, python } =
            subject.frozen_heap(tables, &self.threads)?;
        let memory = Memory::new(ProcessMemory::new(self.process, &mappings, self.keeper));
        let (process, pause, missing) = (self.program, self.pause, self.missing);
        Ok(Snapshot {
            process,
            memory,
            blocks,
            ignored,
            roots,
            mappings,
            python,
            pause,
            missing,
            canaries: None,
            focus: None,
        })
    }
}
