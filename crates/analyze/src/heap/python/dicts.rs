//! Dicts: what they hold, in their own tables or in tables whose keys many dicts share.

use std::ops::ControlFlow;

use heaplens_cpython::dicts::{Entries, Tables};
use heaplens_cpython::fixed::type_flag;
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::Addr;

use super::interpreter::Python;
use super::reader::span;
use super::text::LONGEST_NAME;
use crate::heap::scan::{BLOCK_STEP, NonOwningPart};

/// Names of a class or modules beyond this many are not searched.
const MOST_NAMES: u32 = 1 << 16;
/// Shared keys are few: at most 30 since 3.11, and what a class has before.
const MOST_SHARED: u64 = 1 << 16;
/// Of a dict or a set with more entries hashes count as any other word.
pub(super) const MOST_HASHES: u64 = 1 << 20;

impl<M: ReadMemory> Python<'_, M> {
    /// Keys and values of a dict.
    pub(super) fn each_entry(
        &self,
        dict: Addr,
        mut visit: impl FnMut(Addr, Addr) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(Tables { keys, values }) = self.tables(dict) else { return ControlFlow::Continue(()) };
        match values {
            Some(values) => self.each_shared(Addr::new(keys), Addr::new(values), visit),
            None => self.each_combined(Addr::new(keys), |_, key, value| {
                if value == 0 { ControlFlow::Continue(()) } else { visit(key, Addr::new(value)) }
            }),
        }
    }

    /// Keys of a table that objects share, with the values of one of them.
    pub(super) fn each_shared(
        &self,
        keys: Addr,
        values: Addr,
        mut visit: impl FnMut(Addr, Addr) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.each_combined(keys, |number, key, _| {
            let value = (number < MOST_SHARED)
                .then(|| self.layout.attributes.value(&self.reader, values.get(), number))
                .flatten();
            value.map_or(ControlFlow::Continue(()), |value| visit(key, Addr::new(value)))
        })
    }

    fn each_combined(
        &self,
        keys: Addr,
        mut visit: impl FnMut(u64, Addr, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let entries = self.layout.keys.entries(&self.reader, keys.get());
        let Some(entries) = entries else { return ControlFlow::Continue(()) };
        let mut visit_key = |number: u64, key: u64, value: u64| {
            if is_address(key) { visit(number, Addr::new(key), value) } else { ControlFlow::Continue(()) }
        };
        match entries.has_hashes {
            true => {
                self.reader.each_row(Addr::new(entries.start), entries.count, |number, [_, key, value]| {
                    visit_key(number, key, value)
                })
            }
            false => self.reader.each_row(Addr::new(entries.start), entries.count, |number, [key, value]| {
                visit_key(number, key, value)
            }),
        }
    }

    /// A dict's keys, and its values where they are apart.
    pub(super) fn tables(&self, dict: Addr) -> Option<Tables> {
        self.class_of(dict)?.has(type_flag::DICT).then(|| Tables::of(&self.reader, dict.get()))?
    }

    /// Words of a dict's tables that hold nothing. Keys that are shared belong to their class.
    pub(super) fn non_owning_parts_of_dict(&self, dict: Addr) -> Vec<NonOwningPart> {
        match self.tables(dict) {
            Some(Tables { keys, values: None }) => self.non_owning_parts_of_table(keys),
            Some(Tables { values: Some(values), .. }) => self.order_of(values).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Hashes that look like pointers: that of a number is the number itself, and programs have objects under what `id()` says, often
    /// because they must not hold them. And the old word behind a table that does not fill its block.
    fn non_owning_parts_of_table(&self, keys: u64) -> Vec<NonOwningPart> {
        let mut parts = Vec::new();
        let Some(entries) = self.layout.keys.entries(&self.reader, keys) else { return parts };
        let Entries { start, count, has_hashes, .. } = entries;
        if has_hashes && count <= MOST_HASHES {
            let whole = span(keys, start + Entries::WITH_HASH * count);
            let _ = self.reader.each_row(Addr::new(start), count, |number, [hash, _, _]| {
                let at = start + Entries::WITH_HASH * number;
                parts.extend(is_address(hash).then(|| NonOwningPart { whole, non_owning: span(at, at + 8) }));
                ControlFlow::Continue(())
            });
        }
        let end = entries.end();
        let has_old = !(end - keys).is_multiple_of(BLOCK_STEP.get());
        parts.extend(has_old.then(|| NonOwningPart { whole: span(keys, end), non_owning: span(end, end) }));
        parts
    }

    /// Beside values that share their keys: in what order they were set.
    pub(super) fn order_of(&self, values: u64) -> Option<NonOwningPart> {
        let (start, end) = self.layout.attributes.order_of(&self.reader, values)?;
        Some(NonOwningPart { whole: span(values.min(start), end), non_owning: span(start, end) })
    }

    /// The value that a dict has under a name.
    pub(super) fn value_of(&self, dict: Addr, name: &str) -> Option<Addr> {
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
    pub(super) fn add_tables(&self, dict: Addr, into: &mut Vec<Addr>) {
        match self.tables(dict) {
            Some(Tables { values: Some(values), .. }) => into.push(Addr::new(values)),
            Some(Tables { keys, values: None }) => into.push(Addr::new(keys)),
            None => {}
        }
    }
}
