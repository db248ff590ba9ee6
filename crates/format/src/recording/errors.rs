//! Memory errors of a process: what it did wrong, where, and with which block.

pub use crate::arena::error::{CalledFunction, ErrorKind};
use crate::memory::Family;
use crate::units::{Addr, Bytes, NodeId};

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
