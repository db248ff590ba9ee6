//! Checks whether a copy of a running program can be forked, before any of its threads is stopped.

use std::fs::File;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::Region;
use heaplens_format::arena::header::{HEADER_SIZE, HeaderView};
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use super::error::SnapshotError;
use super::headroom;
use crate::arena::Copied;
use crate::ledger::{Subject, UNREADABLE, refusal};
use crate::os::procfs;

/// A program that runs, and what is known of it.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Its process.
    pub(crate) process: Pid,
    /// The process that records it and adopts its orphans.
    pub(crate) recorder: Pid,
    /// File names of Heaplens's own in it.
    pub(crate) own_files: Vec<String>,
    /// Pages that it inherited, where it began by `fork` and that is known.
    pub(crate) inherited: Option<Vec<Span>>,
    /// Its arena.
    pub(crate) arena: &'a File,
}

impl Program<'_> {
    /// A copy of it.
    pub(super) fn subject_at(&self, copy: Pid) -> Subject {
        Subject::new(copy, self.own_files.clone()).inheriting(self.inherited.clone())
    }
}

/// What is needed to fork a copy.
pub(super) struct Prepared {
    /// Buffers for the tables.
    pub(super) tables: Copied,
    /// The parent of the program.
    pub(super) parent: Pid,
    /// The address of the injection trampoline.
    pub(super) trampoline: Addr,
}

/// Checks whether a copy can be taken, and allocates buffers for the tables.
pub(super) fn prepare(program: &Program<'_>) -> Result<Prepared, SnapshotError> {
    let mut header = vec![0; HEADER_SIZE];
    program.arena.read_exact_at(&mut header, 0).map_err(SnapshotError::Memory)?;
    let header = HeaderView::new(&header).ok_or(SnapshotError::Blocks(UNREADABLE))?;
    refusal(&header).map_or(Ok(()), |why| Err(SnapshotError::Blocks(why)))?;
    let condition = procfs::condition(program.process).ok_or(SnapshotError::Gone)?;
    if condition.is_restricted {
        return Err(SnapshotError::Restricted);
    }
    let needed = condition.anonymous + Bytes::new(header.region(Region::Pages).used);
    if let Some(free) = headroom::free_for(program.process).filter(|free| *free < needed) {
        return Err(SnapshotError::Short { free, needed });
    }
    let tables = Copied::prepare(program.arena).map_err(SnapshotError::Memory)?;
    Ok(Prepared { tables, parent: condition.parent, trampoline: Addr::new(header.trampoline()) })
}
