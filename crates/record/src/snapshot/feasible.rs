//! Whatever speaks against a copy of a program that runs is found out before anything of it is stopped.

use std::fs::File;
use std::os::unix::fs::FileExt;

use heaplens_format::arena::Region;
use heaplens_format::arena::header::{HEADER_SIZE, HeaderView};
use heaplens_format::{Addr, Bytes, Pid};

use super::error::SnapshotError;
use super::headroom;
use crate::arena::Copied;
use crate::ledger::{UNREADABLE, refusal};
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
    /// Its arena.
    pub(crate) arena: &'a File,
}

/// What a copy is taken with.
pub(super) struct Prepared {
    /// Room for the tables.
    pub(super) tables: Copied,
    /// The parent of the program.
    pub(super) parent: Pid,
    /// Where the injection trampoline is, by which system calls are made.
    pub(super) trampoline: Addr,
}

/// Checks whether a copy can be taken, and makes room for the tables.
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
