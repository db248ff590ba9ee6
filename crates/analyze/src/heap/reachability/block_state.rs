//! What the search for unreachable objects asks of Python's objects, and what it says of blocks.

use crate::heap::memory::BlockId;

/// More references than any object has that can be freed: such objects live for ever.
pub(super) const IMMORTAL: u64 = 1 << 30;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// No root leads to it, and neither does an object that is one of the following.
    Unknown,
    /// A root leads to it.
    Reached,
    /// An object out of reach leads to it, or it is one.
    OfObjects,
    /// Nobody holds it, and its count keeps it.
    Overcounted,
    /// The collector would free it.
    Garbage,
    /// For as long as roots are followed: an object that only garbage holds, though native memory points to it.
    PointedTo,
}

/// What is known of Python objects that the graph does not know.
pub(crate) trait ReferenceCounts {
    /// Whether a block is an object.
    fn is_object(&self, block: BlockId) -> bool;
    /// Whether a block is an object of Python's own: what it points to are objects, and memory that is its own.
    fn is_plain(&self, block: BlockId) -> bool;
    /// The references that an object counts; `None` where they cannot be read.
    fn references(&self, block: BlockId) -> Option<u64>;
}
