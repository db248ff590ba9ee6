//! Dicts: their own tables, tables whose keys many dicts share, and values without any dict.
//!
//! ```text
//!   combined   dict ─▶ keys: header │ indices │ (hash │) key │ value, …
//!   split      dict ─▶ keys, shared: … key │ –      and     dict ─▶ values: value, …
//! ```

use std::ops::ControlFlow;

use super::Python;
use super::layout::{DICT_KEYS, DICT_VALUES, Keys, Managed, flag};
use super::reader::is_address;
use super::text::LONGEST_NAME;
use crate::heap::{NonOwningPart as IdlePart, ReadMemory};

/// More entries than this are not looked at.
const MOST_ENTRIES: u64 = 1 << 26;
/// Names of a class or modules beyond this many are not searched.
const MOST_NAMES: u32 = 1 << 16;
/// Shared keys are few: at most 30 since 3.11, and what a class has before.
const MOST_SHARED: u64 = 1 << 16;

/// Bytes of an entry with a hash.
const ENTRY: u64 = 24;
/// Of a dict with more entries hashes count as any other word.
const MOST_HASHES: u64 = 1 << 20;

/// Where the entries of a table of keys lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entries {
    start: u64,
    count: u64,
    has_hashes: bool,
}

impl<M: ReadMemory> Python<'_, M> {
    /// Keys and values of a dict.
    pub(super) fn each_entry(
        &self,
        dict: u64,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((keys, values)) = self.tables(dict) else { return ControlFlow::Continue(()) };
        match values {
            Some(values) => self.each_shared(keys, values, visit),
            None => self.each_combined(keys, |_, key, value| {
                if value == 0 { ControlFlow::Continue(()) } else { visit(key, value) }
            }),
        }
    }

    /// Keys of a table that objects share, with the values of one of them.
    pub(super) fn each_shared(
        &self,
        keys: u64,
        values: u64,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.each_combined(keys, |number, key, _| {
            let value = (number < MOST_SHARED)
                .then(|| self.reader.pointer(values + self.layout.first_value + 8 * number))
                .flatten();
            value.map_or(ControlFlow::Continue(()), |value| visit(key, value))
        })
    }

    fn each_combined(
        &self,
        keys: u64,
        mut visit: impl FnMut(u64, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(entries) = self.entries(keys) else { return ControlFlow::Continue(()) };
        let mut told = |number: u64, key: u64, value: u64| {
            if is_address(key) { visit(number, key, value) } else { ControlFlow::Continue(()) }
        };
        match entries.has_hashes {
            true => self
                .reader
                .each_row(entries.start, entries.count, |number, [_, key, value]| told(number, key, value)),
            false => self
                .reader
                .each_row(entries.start, entries.count, |number, [key, value]| told(number, key, value)),
        }
    }

    /// A dict's keys, and its values where they are apart.
    pub(super) fn tables(&self, dict: u64) -> Option<(u64, Option<u64>)> {
        if !self.class_of(dict)?.has(flag::DICT) {
            return None;
        }
        let keys = self.reader.pointer(dict + DICT_KEYS)?;
        Some((keys, self.reader.pointer(dict + DICT_VALUES)))
    }

    fn entries(&self, keys: u64) -> Option<Entries> {
        let header: [u8; 40] = self.reader.bytes(keys)?;
        let word = |at: usize| header[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let (length, index_bytes, count, indices) = match self.layout.keys {
            Keys::Wide => (word(8), word(8).checked_mul(index_width(word(8)))?, word(32), 40),
            Keys::Compact => {
                (1u64.checked_shl(header[8].into())?, 1u64.checked_shl(header[9].into())?, word(24), 32)
            }
        };
        // A dict without entries has a table of one.
        let is_sound =
            length.is_power_of_two() && length <= MOST_ENTRIES && index_bytes >= length && count <= length;
        let has_hashes = self.layout.keys == Keys::Wide || header[10] == 0;
        is_sound.then(|| Entries { start: keys + indices + index_bytes, count, has_hashes })
    }

    /// Hashes in a dict's own table that look like pointers: that of a number is the number itself, and programs have objects under
    /// what `id()` says, often because they must not hold them.
    pub(super) fn hashes(&self, dict: u64) -> Vec<IdlePart> {
        let mut parts = Vec::new();
        let Some((keys, None)) = self.tables(dict) else { return parts };
        let Some(Entries { start, count, has_hashes: true }) = self.entries(keys) else { return parts };
        if count <= MOST_HASHES {
            let whole = (keys, start + ENTRY * count);
            let _ = self.reader.each_row(start, count, |number, [hash, _, _]| {
                let at = start + ENTRY * number;
                parts.extend(is_address(hash).then_some(IdlePart { whole, idle: (at, at + 8) }));
                ControlFlow::Continue(())
            });
        }
        parts
    }

    /// The value that a dict has under a name.
    pub(super) fn value_of(&self, dict: u64, name: &str) -> Option<u64> {
        let (mut found, mut left) = (None, MOST_NAMES);
        let _ = self.each_entry(dict, |key, value| {
            left -= 1;
            if left == 0 {
                return ControlFlow::Break(());
            }
            if self.text(key, LONGEST_NAME).as_deref() != Some(name) {
                return ControlFlow::Continue(());
            }
            found = Some(value);
            ControlFlow::Break(())
        });
        found
    }

    /// Memory of a dict beside its own: shared keys are not.
    pub(super) fn add_tables(&self, dict: u64, into: &mut Vec<u64>) {
        match self.tables(dict) {
            Some((_, Some(values))) => into.push(values),
            Some((keys, None)) => into.push(keys),
            None => {}
        }
    }

    /// Where an object's attributes are that have no dict: the values behind it or before it.
    pub(super) fn values_of(&self, object: u64, flags: u64) -> Option<u64> {
        use super::layout::{INLINE_VALUES, MANAGED_DICT, MANAGED_VALUES_3_11};
        if flags & flag::MANAGED_DICT == 0 {
            return None;
        }
        match self.layout.managed {
            Managed::None => None,
            Managed::TwoWords => self.reader.pointer(object - MANAGED_VALUES_3_11),
            Managed::OneWord => {
                // An odd word: one less than the address of the values.
                let values = self.reader.word(object - MANAGED_DICT)?.checked_add(1)?;
                is_address(values).then_some(values)
            }
            Managed::Inline => {
                let [_, _, _, is_valid] = self.reader.bytes(object + INLINE_VALUES)?;
                (flags & flag::INLINE_VALUES != 0 && is_valid == 1).then_some(object + INLINE_VALUES)
            }
        }
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
