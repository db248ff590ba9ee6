//! Types: what a type says about its objects, and the words that stand before an object.
//!
//! ```text
//!   block    │ (values or weak references, dict) │ (links of the collector) │ count │ type │ …
//!            start                                                          object
//! ```

use crate::fixed::{gc, managed, member, object, type_flag, type_object};
use crate::layout::{Layout, ManagedDict};
use crate::memory::{ReadMemory, is_address};

/// A type object, as far as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeObject {
    /// Its name, a text of C.
    pub name: u64,
    /// Bytes of an object without items.
    pub basicsize: u64,
    /// Bytes of an item.
    pub itemsize: u64,
    /// Flags, see [`type_flag`].
    pub flags: u64,
    /// Where objects have the list of their weak references, if positive.
    pub weaklistoffset: u64,
    /// Its base.
    pub base: u64,
    /// Where objects have their dict; from their end if negative.
    pub dictoffset: i64,
}

/// As much of a type as is read.
const LENGTH: usize = type_object::DICTOFFSET as usize + 8;

/// No type has larger objects or items.
const LARGEST: u64 = 1 << 24;

impl TypeObject {
    /// The type at an address; `None` where it cannot be one.
    pub fn read<M: ReadMemory>(memory: &M, address: u64) -> Option<Self> {
        let bytes: [u8; LENGTH] = memory.bytes(address)?;
        let word = |at: u64| {
            let bytes = bytes.get(at as usize..at as usize + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let found = Self {
            name: word(type_object::NAME),
            basicsize: word(type_object::BASICSIZE),
            itemsize: word(type_object::ITEMSIZE),
            flags: word(type_object::FLAGS),
            weaklistoffset: word(type_object::WEAKLISTOFFSET),
            base: word(type_object::BASE),
            dictoffset: word(type_object::DICTOFFSET) as i64,
        };
        let is_sound = (object::SIZE..LARGEST).contains(&found.basicsize) && found.itemsize <= LARGEST;
        is_sound.then_some(found)
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

impl Layout {
    /// Bytes of a block before an object whose type has these flags.
    pub fn lead(&self, flags: u64) -> u64 {
        let before = match self.attributes.managed {
            ManagedDict::None => 0,
            ManagedDict::TwoWords => type_flag::MANAGED_DICT,
            ManagedDict::OneWord | ManagedDict::Inline { .. } => {
                type_flag::MANAGED_DICT | type_flag::MANAGED_WEAKREF
            }
        };
        let links = if flags & type_flag::HAVE_GC != 0 { gc::LINKS } else { 0 };
        // Two words, be they in use or not.
        links + if flags & before != 0 { managed::VALUES - gc::LINKS } else { 0 }
    }

    /// Whether the first word of a block is the list of weak references to its object.
    pub fn has_weak_references_first(&self, flags: u64) -> bool {
        let is_before = matches!(self.attributes.managed, ManagedDict::OneWord | ManagedDict::Inline { .. });
        is_before && flags & type_flag::MANAGED_WEAKREF != 0
    }

    /// The word that leads to an object's dict.
    pub fn dict_word<M: ReadMemory>(&self, memory: &M, object: u64, of: &TypeObject) -> Option<u64> {
        if let Some(word) = self.attributes.managed_dict(object, of.flags) {
            return Some(word);
        }
        match of.dictoffset {
            0 => None,
            offset @ 1.. => object.checked_add_signed(offset),
            // Counted from the end of what has as many items as it says.
            offset => {
                let items = (memory.word(object + object::SIZE)? as i64).unsigned_abs();
                let size = items.checked_mul(of.itemsize)?.checked_add(of.basicsize)?;
                object.checked_add(size.checked_next_multiple_of(8)?)?.checked_add_signed(offset)
            }
        }
    }

    /// How many references there are to an object, by its first word; `None` where that has bits which no object's has.
    #[inline]
    pub fn references(&self, word: u64) -> Option<u64> {
        let is_sound = word & !(self.object.count_mask | self.object.flags_mask) == 0;
        is_sound.then_some(word & self.object.count_mask)
    }

    /// Whether an object is compiled into the interpreter, by its first word.
    pub fn is_constant(&self, word: u64) -> bool {
        self.object.constant.is_some_and(|of| word.abs_diff(of.references) < of.slack)
    }
}

/// A member that a type describes (`PyMemberDef`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// An object.
    Object {
        /// Its name, a text of C.
        name: u64,
        /// Where in the instance it is.
        offset: u64,
    },
    /// Something else.
    Other,
}

impl Member {
    /// Bytes from one description to the next.
    pub const LENGTH: u64 = member::LENGTH;

    /// The description at an address; `None` after the last, or where it cannot be read.
    pub fn read<M: ReadMemory>(memory: &M, address: u64) -> Option<Self> {
        let described: [u8; 24] = memory.bytes(address)?;
        let word = |at: u64| {
            let bytes = described.get(at as usize..at as usize + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes)
        };
        let (name, offset) = (word(member::NAME), word(member::OFFSET));
        if name == 0 {
            return None;
        }
        let kind = word(member::KIND) & u64::from(u32::MAX);
        let is_object = [member::OBJECT, member::OBJECT_EX].contains(&kind) && offset < LARGEST;
        let is_named = is_address(name & !7);
        Some(if is_object && is_named { Self::Object { name, offset } } else { Self::Other })
    }
}
