//! How far an iterator is: the built-in ones keep an index or what is left, in a word that can be read.
//!
//! An iterator that is looked at lies on the stack of a frame. While an exception empties that stack, objects that were on it
//! may be gone already and nothing tells so: hence nothing here is read but by way of the kernel, which does not fault.

use core::ffi::CStr;

use super::layout::Layout;
use crate::symbols::Exports;
use crate::sys;

/// How far a loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The iterator, by its address.
    pub iterator: u64,
    /// A number that rises by one with each item.
    pub count: u64,
    /// Items taken so far, as well as can be told from one look.
    pub first: u64,
    /// Whether that is sure.
    pub is_whole: bool,
    /// Items that are left; `u64::MAX` where it is not known.
    pub left: u64,
}

/// What an object may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An iterator that tells how far it is.
    Telling(Progress),
    /// Another iterator.
    Silent,
    /// Something else.
    Other,
}

/// The addresses of the types whose layout is known; 0 where the interpreter does not export one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Types {
    range: u64,
    list: u64,
    tuple: u64,
    enumerate: u64,
    zip: u64,
    dictionary: [u64; 3],
    /// Whether a range keeps what is left (since 3.12), and not the index.
    range_counts_down: bool,
    /// In a tuple: its first item.
    tuple_items: usize,
}

const UNKNOWN: u64 = u64::MAX;
/// From where the number of something that counts down is taken.
const TOP: u64 = 1 << 62;
/// In a type: the function that takes the next item.
const NEXT: u64 = 224;

/// An object: references, type, then its own words.
struct Words {
    words: [u64; 7],
    count: usize,
}

impl Words {
    fn of(object: u64) -> Self {
        let (words, count) = sys::read_words::<7>(object);
        Self { words, count }
    }

    fn kind(&self) -> u64 {
        if self.count < 2 { 0 } else { self.words[1] }
    }

    /// The word at an offset in bytes; `None` where the object's page ends before it.
    fn at(&self, offset: usize) -> Option<u64> {
        self.words[..self.count].get(offset / 8).copied()
    }
}

impl Types {
    /// Finds them.
    pub fn of(exports: &Exports, layout: &Layout) -> Self {
        let address = |name: &CStr| exports.find(name).map_or(0, |symbol| symbol.address);
        Self {
            range: address(c"PyRangeIter_Type"),
            list: address(c"PyListIter_Type"),
            tuple: address(c"PyTupleIter_Type"),
            enumerate: address(c"PyEnum_Type"),
            zip: address(c"PyZip_Type"),
            dictionary: [c"PyDictIterKey_Type", c"PyDictIterValue_Type", c"PyDictIterItem_Type"].map(address),
            range_counts_down: layout.range_counts_down,
            tuple_items: layout.tuple_items as usize,
        }
    }

    /// What an object is that may be an iterator.
    pub fn kind(&self, object: u64) -> Kind {
        let words = Words::of(object);
        match words.kind() {
            0 => Kind::Other,
            kind if self.tells(kind) => match self.progress(&words) {
                Some(progress) => Kind::Telling(Progress { iterator: object, ..progress }),
                None => Kind::Silent,
            },
            kind => match sys::read_words::<1>(kind + NEXT) {
                ([next], 1) if next != 0 => Kind::Silent,
                _ => Kind::Other,
            },
        }
    }

    fn tells(&self, kind: u64) -> bool {
        self.is_simple(kind) || [self.enumerate, self.zip].contains(&kind) || self.dictionary.contains(&kind)
    }

    fn is_simple(&self, kind: u64) -> bool {
        [self.range, self.list, self.tuple].contains(&kind)
    }

    fn progress(&self, words: &Words) -> Option<Progress> {
        match words.kind() {
            kind if kind == self.enumerate => self.of_enumerate(words),
            kind if kind == self.zip => self.of_zip(words),
            kind if self.dictionary.contains(&kind) => of_dictionary(words),
            _ => self.simple(words),
        }
    }

    fn simple(&self, words: &Words) -> Option<Progress> {
        if words.kind() == self.range { self.of_range(words) } else { of_sequence(words) }
    }

    /// Before 3.12 { index, start, step, length }, since then { start, step, what is left }.
    fn of_range(&self, words: &Words) -> Option<Progress> {
        if self.range_counts_down {
            let (next, step, left) = (words.at(16)?, words.at(24)?, words.at(32)?);
            // Of `range(n)` the next item tells how many were taken; that it began at 0 is sure only with the first one,
            // and where the next item is 2 it is more likely the first one of `range(1, n)`.
            let taken =
                next.checked_div(step).filter(|&taken| taken > 2 && taken < TOP / 2 && taken * step == next);
            return Some(Progress {
                first: taken.unwrap_or(1),
                is_whole: next == step,
                ..counting_down(left)
            });
        }
        let (index, length) = (words.at(16)?, words.at(40)?);
        Some(Progress { left: length.saturating_sub(index), ..counting_up(index) })
    }

    /// { index, iterator }; the index begins where the user said.
    fn of_enumerate(&self, words: &Words) -> Option<Progress> {
        let (index, inner) = (words.at(16)?, words.at(24)?);
        Some(self.inner(inner).unwrap_or(Progress { is_whole: index == 1, ..counting_up(index) }))
    }

    /// { size, tuple of iterators }: as far as the first of them.
    fn of_zip(&self, words: &Words) -> Option<Progress> {
        let (size, iterators) = (words.at(16)?, words.at(24)?);
        let first = Words::of(iterators).at(self.tuple_items).filter(|_| size > 0)?;
        self.inner(first).map(|first| Progress { left: UNKNOWN, ..first })
    }

    /// An iterator inside another: one step and no further.
    fn inner(&self, iterator: u64) -> Option<Progress> {
        let words = Words::of(iterator);
        if self.is_simple(words.kind()) { self.simple(&words) } else { None }
    }
}

/// { index, sequence }; the sequence is let go at the end.
fn of_sequence(words: &Words) -> Option<Progress> {
    let (index, sequence) = (words.at(16)?, words.at(24)?);
    let length = if sequence == 0 { index } else { Words::of(sequence).at(16)? };
    Some(Progress { left: length.saturating_sub(index), ..counting_up(index) })
}

/// { dictionary, items at the start, place, result, items left }.
fn of_dictionary(words: &Words) -> Option<Progress> {
    let (all, left) = (words.at(24)?, words.at(48)?);
    Some(Progress { left, ..counting_up(all.saturating_sub(left)) })
}

fn counting_up(index: u64) -> Progress {
    Progress { iterator: 0, count: index, first: index, is_whole: true, left: UNKNOWN }
}

fn counting_down(left: u64) -> Progress {
    Progress { iterator: 0, count: TOP.saturating_sub(left), first: 1, is_whole: false, left }
}
