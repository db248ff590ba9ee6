//! What one event weighs.

/// Bytes and blocks of one event; blocks are in units of [`heaplens_format::arena::table::SAMPLED_BLOCK`] when sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes.
    pub bytes: u64,
    /// Blocks.
    pub blocks: u64,
}
