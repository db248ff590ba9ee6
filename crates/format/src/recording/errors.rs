//! Memory errors of a process: what it did wrong, where, and with which block.

use alloc::vec::Vec;

pub use crate::arena::error::{CalledFunction, ErrorKind};
use crate::memory::Family;
use crate::units::{Addr, Bytes, Nanos, NodeId};

/// An error that was made at one stack with blocks of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// What it is.
    pub kind: ErrorKind,
    /// The function that was called, where the kind does not say it.
    pub function: CalledFunction,
    /// The stack of the call; of what found it where it is not known who did it.
    pub stack: NodeId,
    /// The stack that allocated the block.
    pub allocated: Option<NodeId>,
    /// The stack that freed it first.
    pub freed: Option<NodeId>,
    /// The address that it is about, the first time.
    pub address: Addr,
    /// Bytes of the access, 0 where that is not known.
    pub access: Bytes,
    /// The block that it is about, the first time.
    pub block: Option<ErrorBlock>,
    /// How often it was made.
    pub count: u64,
    /// What else there is to say, by kind: of [`ErrorKind::Overlap`] the address of the source, of [`ErrorKind::FishySize`] the size.
    pub extra: u64,
    /// When it was made, or found, the first time, since the start of the run; zero in recordings before format 2.16.
    pub at: Nanos,
}

/// The most damaged blocks of a check that are kept: with so many, others may have been damaged, too.
pub const MOST_DAMAGED: usize = 64;

/// What the canaries behind all live blocks said at a moment of the run, in a heap snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanaryCheck {
    /// The moment, since the start of the run.
    pub at: Nanos,
    /// How many blocks had one.
    pub blocks: u64,
    /// The first of those whose canary was changed, [`MOST_DAMAGED`] at most.
    pub damaged: Vec<DamagedBlock>,
}

/// A live block behind which bytes were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedBlock {
    /// The block.
    pub block: ErrorBlock,
    /// The stack that allocated it, as the sites of the recording are numbered.
    pub site: u32,
    /// The first byte that was changed.
    pub changed: Addr,
}

/// The block that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorBlock {
    /// Where it begins.
    pub start: Addr,
    /// Its size.
    pub size: Bytes,
    /// Which function made it.
    pub family: Family,
}
