//! A live block, as the tables of a process list it.

use heaplens_format::{Addr, Bytes};

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stack that allocated it, as its tables number them.
    pub site: u32,
}
