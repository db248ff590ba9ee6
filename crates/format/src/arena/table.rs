//! The records of the arena's tables, and the layout of a frame of the trie.

use super::counter::CounterId;
use super::frame::{FRAME_PSEUDO_MODULE, frame_word, split_frame};
use crate::atomic::{AtomicU32, AtomicU64};

/// One frame below its callers.
///
/// ```text
///   hash u64 │ frame u64: module:16 pc:48 │ parent u32 │ site u32      (24 bytes)
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct NodeRecord {
    /// Hash of the path from the root; 0 while the node is being written.
    pub hash: AtomicU64,
    /// [`frame_word`].
    pub frame: AtomicU64,
    /// The node of the caller; 0 is the root.
    pub parent: AtomicU32,
    /// The site of this stack; 0 while nothing was allocated with it.
    pub site: AtomicU32,
}

/// The size of a [`NodeRecord`].
pub const NODE_SIZE: usize = 24;
const _: () = assert!(size_of::<NodeRecord>() == NODE_SIZE);

/// Counters of a site, or of the part of a site that is not its owner's.
///
/// The thread (its thread slot) that made a site counts in the site's own record, without atomic read-modify-write. Everyone
/// else counts in a second record of the same shape, taken at the first such event. The truth is the sum.
///
/// `peak_*` is the live value at the peak that `moment` names (by its bytes); where that is not the process's peak, nothing
/// changed here since that peak and the live value is the one at the peak. Likewise with marks: what it had at those that
/// came before its last change is in CHANGES, at later ones it had what it has now.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct SiteRecord {
    /// Bytes allocated here so far.
    pub allocated_bytes: AtomicU64,
    /// Blocks allocated here so far.
    pub allocated_blocks: AtomicU64,
    /// Of these, bytes freed.
    pub freed_bytes: AtomicU64,
    /// Of these, blocks freed.
    pub freed_blocks: AtomicU64,
    /// Live bytes at the peak named by `moment`.
    pub peak_bytes: AtomicU64,
    /// Live blocks at that peak.
    pub peak_blocks: AtomicU64,
    /// [`super::marks::Moment`] of its last change, as far as a later one was not needed yet.
    pub moment: AtomicU64,
    /// [`SiteIdentity`]; 0 in a record that is the second one of a site.
    pub identity: AtomicU64,
}

/// The size of a [`SiteRecord`].
pub const SITE_SIZE: usize = 64;
const _: () = assert!(size_of::<SiteRecord>() == SITE_SIZE);

/// Whose site it is, and where its other record is.
///
/// ```text
///   │ 63 set │ 62 … 39 second record, 0 while there is none │ 38 … 27 owning slot │ 26 … 0 node │
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SiteIdentity(u64);

impl SiteIdentity {
    const NODE_BITS: u32 = 27;
    const SLOT_BITS: u32 = 12;
    const SECOND_SHIFT: u32 = Self::NODE_BITS + Self::SLOT_BITS;
    const SET: u64 = 1 << 63;

    /// The largest number of a thread slot that fits.
    pub const MAX_SLOT: u32 = (1 << Self::SLOT_BITS) - 1;

    /// The site of a node, made by a thread slot; `None` when a number does not fit.
    pub const fn new(node: u32, slot: u32) -> Option<Self> {
        if node >> Self::NODE_BITS != 0 || slot > Self::MAX_SLOT {
            return None;
        }
        Some(Self(Self::SET | (slot as u64) << Self::NODE_BITS | node as u64))
    }

    /// From the raw word; `None` when it is no identity.
    #[inline(always)]
    pub const fn from_raw(raw: u64) -> Option<Self> {
        if raw & Self::SET != 0 { Some(Self(raw)) } else { None }
    }

    /// The raw word.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The innermost frame.
    pub const fn node(self) -> u32 {
        self.0 as u32 & ((1 << Self::NODE_BITS) - 1)
    }

    /// The thread slot that counts in this record.
    #[inline(always)]
    pub const fn slot(self) -> u32 {
        (self.0 >> Self::NODE_BITS) as u32 & Self::MAX_SLOT
    }

    /// The number of the record in which everyone else counts, 0 while there is none.
    #[inline(always)]
    pub const fn second(self) -> u32 {
        (self.0 >> Self::SECOND_SHIFT) as u32 & 0x00ff_ffff
    }

    /// The same with a second record.
    pub const fn with_second(self, number: u32) -> Self {
        Self(
            self.0 & ((1 << Self::SECOND_SHIFT) - 1)
                | Self::SET
                | (number as u64 & 0x00ff_ffff) << Self::SECOND_SHIFT,
        )
    }
}

/// The unit of block counters in a sampled run: one block is this many, so that the weight 1/p of a large block, which is
/// little more than one, is not lost in rounding.
pub const SAMPLED_BLOCK: u64 = 256;

/// A loaded object file, written once, published by `published`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ModuleRecord {
    /// What the loader added to the file's addresses.
    pub bias: AtomicU64,
    /// First mapped address.
    pub start: AtomicU64,
    /// First address after it.
    pub end: AtomicU64,
    /// Path: offset in STRINGS in the high, length in the low half.
    pub path: AtomicU64,
    /// Build id: likewise.
    pub build_id: AtomicU64,
    /// 1 when the record is whole.
    pub published: AtomicU64,
}

/// The size of a [`ModuleRecord`].
pub const MODULE_SIZE: usize = 48;
const _: () = assert!(size_of::<ModuleRecord>() == MODULE_SIZE);

/// A live mapping that the program made itself.
#[derive(Debug, Default)]
#[repr(C)]
pub struct MappingRecord {
    /// First address.
    pub start: AtomicU64,
    /// First address after it.
    pub end: AtomicU64,
    /// The site that made it; 0: the allocator, for its own use; beyond all sites: a region that a pool hands out in parts
    /// ([`crate::memory::Pool::region_mark`]).
    pub site: AtomicU64,
}

/// The size of a [`MappingRecord`].
pub const MAPPING_SIZE: usize = 24;
const _: () = assert!(size_of::<MappingRecord>() == MAPPING_SIZE);

macro_rules! pseudo {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        /// What stands below the outermost frame when the stack is not an ordinary, complete one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Pseudo {
            $($(#[$doc])* $name = $number,)*
            /// No memory: events that are counted.
            Counter(CounterId) = 64,
        }

        impl Pseudo {
            /// Its number: what its frame has instead of an address.
            #[inline(always)]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Counter(counter) => counter.pseudo_number(),
                }
            }

            /// Its frame in the trie.
            pub const fn frame(self) -> u64 {
                frame_word(FRAME_PSEUDO_MODULE, self.number() as u64)
            }

            /// The pseudo frame that a frame word stands for.
            pub const fn from_frame(frame: u64) -> Option<Self> {
                match split_frame(frame) {
                    $((FRAME_PSEUDO_MODULE, $number) => Some(Self::$name),)*
                    _ => match CounterId::from_frame(frame) {
                        Some(counter) => Some(Self::Counter(counter)),
                        None => None,
                    },
                }
            }
        }
    };
}

pseudo! {
    /// The stack ends in code without unwind information (JIT code, hand-written assembly).
    NoUnwindInfo = 1;
    /// Deeper than the limit; only the innermost frames follow.
    TooDeep = 2;
    /// A frame led out of the stack.
    Broken = 3;
    /// Not a heap block: an anonymous mapping.
    AnonymousMapping = 4;
    /// Not a heap block: a mapped file.
    FileMapping = 5;
    /// Not a heap block: the program's own `brk`/`sbrk`.
    Break = 6;
    /// The module table was full: frames of unknown modules.
    NoModule = 7;
    /// Not a block of `malloc`: a small object of Python, out of its own arenas.
    PythonObject = 8;
    /// A heap block that Python's allocator asked for: an object too large for its arenas, or its own tables.
    PythonBlock = 9;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_reads_back() {
        let identity = SiteIdentity::new((1 << 27) - 1, 4095).unwrap();
        assert_eq!((identity.node(), identity.slot(), identity.second()), ((1 << 27) - 1, 4095, 0));
        let both = identity.with_second(0x00ab_cdef);
        assert_eq!((both.node(), both.slot(), both.second()), ((1 << 27) - 1, 4095, 0x00ab_cdef));
        assert_eq!(SiteIdentity::from_raw(both.raw()), Some(both));
        assert_eq!(SiteIdentity::from_raw(7), None);
        assert_eq!(SiteIdentity::new(1 << 27, 1), None);
        assert_eq!(SiteIdentity::new(1, 4096), None);
    }
}
