//! Why an arena cannot be read.

use heaplens_format::arena::Region;

/// Why an arena cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The file could not be read.
    #[error("cannot read the arena: {0}")]
    Io(#[from] std::io::Error),
    /// The file is still empty: the process exited before its arena was ready.
    #[error("the arena is empty: its process exited before the agent had set it up")]
    Unborn,
    /// The file does not begin as an arena does.
    #[error("the file is not an arena, or another version of Heaplens wrote it")]
    NotAnArena,
    /// A region extends beyond the end of the file.
    #[error(
        "the arena's region {region:?} claims {claimed} bytes at offset {offset}, beyond the end of the file"
    )]
    OutOfFile {
        /// Which region.
        region: Region,
        /// Its offset.
        offset: u64,
        /// Its length in the header.
        claimed: u64,
    },
}
