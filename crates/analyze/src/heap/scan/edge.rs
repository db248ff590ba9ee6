//! A pointer to a block in four bytes, and what of the block decides how good a pointer it is.

use heaplens_format::Bytes;

use super::heuristics::Heuristics;
use super::links::{Links, Payload};
use crate::heap::memory::{BlockId, ID_BITS};

/// The bytes of the collector's links, right before an object that has them.
const LINKS: u8 = 16;

/// A pointer: the block, and where in the block it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge(u32);

/// How far into a block a pointer points, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum PointerOffset {
    Start = 0,
    /// Eight bytes: after a length.
    AfterWord = 1,
    /// Two words: after the collector's links.
    AfterLinks = 2,
    /// Three words: after the header of a string that is copied when it is written to.
    AfterString = 3,
    /// Four words: after the collector's links and two words of Python's before them.
    AfterPrefix = 4,
    Inside = 5,
}

impl Edge {
    pub(crate) fn new(block: BlockId, offset: Bytes) -> Self {
        let target = match offset.get() {
            // No program points into the first word of a block; it keeps a tag in the low bits of a pointer to its start.
            0..8 => PointerOffset::Start,
            8 => PointerOffset::AfterWord,
            16 => PointerOffset::AfterLinks,
            24 => PointerOffset::AfterString,
            32 => PointerOffset::AfterPrefix,
            _ => PointerOffset::Inside,
        };
        Self((target as u32) << ID_BITS | block.raw())
    }

    pub(crate) fn block(self) -> BlockId {
        BlockId::new((self.0 & ((1 << ID_BITS) - 1)) as usize)
    }

    /// Where in its block it points to; `None` where that is neither the start nor after words that precede an object.
    pub(crate) fn offset(self) -> Option<u8> {
        [Some(0), Some(8), Some(16), Some(24), Some(32)].get((self.0 >> ID_BITS) as usize).copied().flatten()
    }

    /// Whether the header of its block need not be read: it points to the start.
    pub(crate) fn is_plain(self) -> bool {
        self.0 >> ID_BITS == PointerOffset::Start as u32
    }

    /// The bits of [`Header`] of which the block must have one for this to be a valid interior pointer: one that is as good as a
    /// pointer to the start.
    pub(crate) fn wanted_header(self) -> u8 {
        match self.0 >> ID_BITS {
            0 => Header::ANY,
            1 => Header::COUNTED,
            2 => Header::LINKED,
            3 => Header::STRING,
            4 => Header::PREFIXED,
            _ => 0,
        }
    }
}

/// Whether so many elements can lie in so many bytes. Of none only the count is there.
fn is_array(count: u64, bytes: u64) -> bool {
    if count == 0 { bytes == 0 } else { bytes >= count && bytes.is_multiple_of(count) }
}

/// What the first words of a block look like. Programs keep pointers to what follows such headers, and nowhere else. Also, in the bits
/// that are left, what else is known of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header(u8);

impl Header {
    const ANY: u8 = 1;
    /// A number of elements, as `new[]` puts it before objects with destructors; or a length in bytes.
    const COUNTED: u8 = 2;
    /// Length, capacity and count of references, as strings of the old ABI have them.
    const STRING: u8 = 4;
    /// A Python object after the two links of the collector.
    const LINKED: u8 = 8;
    /// The same after two more words.
    const PREFIXED: u8 = 16;
    /// Python's collector knows it.
    const TRACKED: u8 = 32;
    const VECTOR_PAYLOAD: u8 = 64;
    const STRING_PAYLOAD: u8 = 128;

    pub(crate) fn of(size: Bytes, words: &[[u8; 8]], heuristics: Heuristics) -> Self {
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word));
        let mut bits = Self::ANY;
        if let (Some(count), Some(rest)) = (word(0), size.get().checked_sub(8))
            && (heuristics.length && rest == count && count > 0
                || heuristics.new_array && is_array(count, rest))
        {
            bits |= Self::COUNTED;
        }
        if let (Some(length), Some(capacity), Some(_)) = (word(0), word(1), word(2))
            && heuristics.std_string
            && length <= capacity
            && capacity.checked_add(25) == Some(size.get())
        {
            bits |= Self::STRING;
        }
        Self(bits)
    }

    pub(crate) fn with(self, links: Links) -> Self {
        let object = match links.object_at {
            16 => Self::LINKED,
            32 => Self::PREFIXED,
            _ => 0,
        };
        Self(self.0 | object | if links.is_tracked { Self::TRACKED } else { 0 })
    }

    /// A block whose words cannot be read.
    pub(crate) fn unknown() -> Self {
        Self(Self::ANY)
    }

    /// What was found about a block before its own words were read stays.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn is_payload_of(payload: Payload) -> Self {
        Self(match payload {
            Payload::Vector => Self::VECTOR_PAYLOAD,
            Payload::String => Self::STRING_PAYLOAD,
        })
    }

    pub(crate) fn payload(self) -> Option<Payload> {
        match self.0 & (Self::VECTOR_PAYLOAD | Self::STRING_PAYLOAD) {
            Self::VECTOR_PAYLOAD => Some(Payload::Vector),
            Self::STRING_PAYLOAD => Some(Payload::String),
            // Both cannot be.
            _ => None,
        }
    }

    pub(crate) fn is_tracked(self) -> bool {
        self.0 & Self::TRACKED != 0
    }

    /// How many bytes after the start of the block its Python object begins, where it has one.
    pub(crate) fn object_at(self) -> u8 {
        match self.0 & (Self::LINKED | Self::PREFIXED) {
            0 => 0,
            Self::LINKED => LINKS,
            _ => 32,
        }
    }

    /// Whether this points to the links of the collector before an object that it tracks: the heads of its lists do, and hold nothing.
    pub(crate) fn is_link(self, edge: Edge) -> bool {
        self.is_tracked() && edge.offset().is_some_and(|offset| offset + LINKS == self.object_at())
    }

    /// Whether this is a valid interior pointer to a block with this header, or one to its start.
    #[inline]
    pub(crate) fn allows(self, edge: Edge) -> bool {
        self.0 & edge.wanted_header() != 0
    }
}
