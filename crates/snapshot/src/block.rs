//! A live block, as the tables of a process list it.

use heaplens_format::{Addr, Bytes};

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: Addr,
    /// How long it is.
    pub size: Bytes,
    /// The stack that allocated it, as its tables number them; [`Self::NO_SITE`] where that is not known.
    pub site: u32,
}

impl Block {
    /// The site of blocks that are not in the tables: those that a forked process inherited, and small objects that are no samples.
    pub const NO_SITE: u32 = u32::MAX;
}
