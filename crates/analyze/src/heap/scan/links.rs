//! What is known of a block besides its words: which of them are non-owning pointers, and whose memory it is.

use heaplens_snapshot::Span;

/// Memory that an object says is its own, and the part of it in which pointers own nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonOwningPart {
    /// All that it has there; a block begins with it.
    pub whole: Span,
    /// The part.
    pub non_owning: Span,
}

/// What is known of a block besides its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// Non-owning pointers: words of the block that do not count, bit n for word n and the last one for all after it: the collector's links
    /// to its neighbours, weak references, what follows an object.
    pub non_owning: u64,
    /// How many bytes after the start of the block its object begins, to which others point: 0, 16 or 32.
    pub object_at: u8,
    /// Whether the collector knows it.
    pub is_tracked: bool,
}

impl Links {
    #[inline]
    pub(crate) fn skips(&self, word: usize) -> bool {
        self.non_owning >> word.min(u64::BITS as usize - 1) & 1 != 0
    }
}

/// What is in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Memory of no type.
    Unknown,
    /// An object whose words are references.
    Object,
    /// An object that is a class.
    Class,
    /// A Python object of an extension module: not every pointer in it is a reference.
    Extension,
    /// An object of native code.
    Native,
    /// Memory that the program mapped itself, of no type: no object's own, whatever leads to it.
    Mapping,
}

/// Whose memory a block is, inferred from the words that point to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// The elements of a `std::vector`.
    Vector,
    /// The characters of a `std::string`.
    String,
}

impl Payload {
    /// What it is called.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Vector => "std::vector elements",
            Self::String => "std::string characters",
        }
    }
}
