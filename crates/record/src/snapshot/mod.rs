//! Snapshots of living processes: how a heap is frozen, when that is done, and which findings are kept. What a snapshot consists of is
//! defined in `heaplens_snapshot`; what is found in one is up to whoever examines it.
//!
//! ```text
//!   stopped      the process waits at its exit ──────┐
//!   forked       it runs: a copy is forked in it ────┼─▶ FrozenProcess ─▶ Snapshot ─▶ examiner ─▶ kept
//!   self_forked  nobody may stop its threads ────────┘    with the root set (ledger)
//! ```

mod canaries;
mod cost;
mod error;
mod feasible;
mod forked;
mod frozen;
mod headroom;
mod kept;
mod labels;
mod process_memory;
mod running;
mod schedule;
mod self_forked;
mod stopped;
mod worker;

use heaplens_format::recording::HeapMoment;
use heaplens_snapshot::{Examined, Snapshot};

pub(crate) use canaries::check as check_canaries;
pub use error::SnapshotError;
pub(crate) use feasible::Program;
pub(crate) use kept::{keep, keep_check};
pub(crate) use labels::Labels;
pub(crate) use running::copy;
pub(crate) use schedule::{ProgramState, Schedule};
pub(crate) use stopped::stop;
pub(crate) use worker::{
    Examine, Request, SectionPass, SnapshotOutcome, Worker, examine, examine_section, not_checked,
};

/// Is shown a snapshot, and says what it found. Sites are numbered as those of the snapshot's blocks.
pub type Examiner<'a> = &'a mut (dyn FnMut(&Snapshot, HeapMoment) -> Examined + Send);
