//! Tables of dicts: their own, tables whose keys many dicts share, and values without any dict.
//!
//! ```text
//!   combined   dict ─▶ keys: header │ indices │ (hash │) key │ value, …
//!   split      dict ─▶ keys, shared: … key │ –      and     dict ─▶ values: value, …
//! ```

use crate::fixed::{dict, managed, type_flag};
use crate::layout::{Attributes, Keys, ManagedDict};
use crate::memory::{ReadMemory, is_address};

/// A table with more entries is none.
const MOST_ENTRIES: u64 = 1 << 26;

/// The tables of a dict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Its keys, and its values with them,
    pub keys: u64,
    /// or apart, where the keys are shared.
    pub values: Option<u64>,
}

impl Tables {
    /// Those of a dict.
    pub fn of<M: ReadMemory>(memory: &M, dict: u64) -> Option<Self> {
        let keys = memory.pointer(dict + dict::KEYS)?;
        Some(Self { keys, values: memory.pointer(dict + dict::VALUES) })
    }
}

/// Where the entries of a table of keys lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The first.
    pub start: u64,
    /// How many are in use, or were.
    pub count: u64,
    /// How many there is room for: two thirds of its indices (`USABLE_FRACTION` of dictobject.c).
    pub capacity: u64,
    /// Whether an entry is a hash, a key and a value, and not a key and a value.
    pub has_hashes: bool,
}

impl Entries {
    /// Bytes of an entry with a hash.
    pub const WITH_HASH: u64 = 24;
    const WITHOUT_HASH: u64 = 16;

    /// Where the room for entries ends.
    pub fn end(&self) -> u64 {
        self.start + self.capacity * if self.has_hashes { Self::WITH_HASH } else { Self::WITHOUT_HASH }
    }
}

impl Keys {
    /// Bytes of a header that are read.
    const HEADER: usize = 40;

    /// The entries of a table of keys; `None` where it is none.
    pub fn entries<M: ReadMemory>(self, memory: &M, keys: u64) -> Option<Entries> {
        let header: [u8; Self::HEADER] = memory.bytes(keys)?;
        let byte = |at: u64| header.get(at as usize).copied();
        let word = |at: u64| {
            let bytes = header.get(at as usize..at as usize + 8)?;
            bytes.try_into().ok().map(u64::from_le_bytes)
        };
        let (length, index_bytes, count, indices, has_hashes) = match self {
            Self::Wide { size, nentries, indices } => {
                let length = word(size)?;
                (length, length.checked_mul(index_width(length))?, word(nentries)?, indices, true)
            }
            Self::Compact { log2_size, log2_index_bytes, kind, nentries, indices } => {
                let power = |at: u64| 1u64.checked_shl(byte(at)?.into());
                (power(log2_size)?, power(log2_index_bytes)?, word(nentries)?, indices, byte(kind)? == 0)
            }
        };
        // A dict without entries has a table of one.
        let is_sound =
            length.is_power_of_two() && length <= MOST_ENTRIES && index_bytes >= length && count <= length;
        if !is_sound {
            return None;
        }
        let (start, capacity) = (keys + indices + index_bytes, 2 * length / 3);
        Some(Entries { start, count, capacity, has_hashes })
    }
}

/// Bytes of an index, before 3.11.
fn index_width(length: u64) -> u64 {
    match length {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

impl Attributes {
    /// Where an object's attributes are that have no dict: the values after it or before it. Known by its type's flags and how
    /// long its objects are.
    pub fn values_of<M: ReadMemory>(
        &self,
        memory: &M,
        object: u64,
        flags: u64,
        basicsize: u64,
    ) -> Option<u64> {
        if flags & type_flag::MANAGED_DICT == 0 {
            return None;
        }
        match self.managed {
            ManagedDict::None => None,
            ManagedDict::TwoWords => memory.pointer(object - managed::VALUES),
            ManagedDict::OneWord => {
                // An odd word: one less than the address of the values.
                let values = memory.word(object - managed::DICT)?.checked_add(1)?;
                is_address(values).then_some(values)
            }
            ManagedDict::Inline { valid } => {
                let values = self.inline_values(object, flags, basicsize)?;
                (memory.byte(values.checked_add(valid)?)? == 1).then_some(values)
            }
        }
    }

    /// Where an object keeps attributes in its own block, after itself, whether in use or not.
    pub fn inline_values(&self, object: u64, flags: u64, basicsize: u64) -> Option<u64> {
        let is_inline =
            matches!(self.managed, ManagedDict::Inline { .. }) && flags & type_flag::INLINE_VALUES != 0;
        object.checked_add(basicsize).filter(|_| is_inline)
    }

    /// The word of an object that leads to its dict, where its type leaves that to the interpreter.
    pub fn managed_dict(&self, object: u64, flags: u64) -> Option<u64> {
        let is_managed = self.managed != ManagedDict::None && flags & type_flag::MANAGED_DICT != 0;
        is_managed.then(|| object - managed::DICT)
    }

    /// Bytes beside such values that keep the order in which they were set. Those of values that never were are what lay there
    /// before, and may read as pointers.
    pub fn order_of<M: ReadMemory>(&self, memory: &M, values: u64) -> Option<(u64, u64)> {
        match self.managed {
            ManagedDict::None => None,
            // They lie before the values; the last of them is how many bytes that are (`new_values` of dictobject.c).
            ManagedDict::TwoWords | ManagedDict::OneWord => {
                let length = memory.byte(values.checked_sub(1)?)?;
                Some((values.checked_sub(length.into())?, values))
            }
            // They lie after the values, of which the first byte says how many there may be.
            ManagedDict::Inline { .. } => {
                let most = u64::from(memory.byte(values)?);
                let start = values.checked_add(self.first_value + 8 * most)?;
                Some((start, start.checked_add(most.next_multiple_of(8))?))
            }
        }
    }

    /// One of the values that share their keys with others.
    pub fn value<M: ReadMemory>(&self, memory: &M, values: u64, number: u64) -> Option<u64> {
        memory.pointer(values + self.first_value + 8 * number)
    }
}
