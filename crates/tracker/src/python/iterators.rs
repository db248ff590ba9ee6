//! How far an iterator is: the built-in ones keep an index or what is left, in a word that can be read, also at the moment
//! when the iterator is about to be freed.
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
    /// References to it besides the loop's: whoever has them may take items, too.
    pub others: u32,
    /// The object that keeps the count.
    pub counter: Counter,
}

/// The object that keeps the count of a loop: the iterator itself, or one inside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counter {
    object: u64,
    /// The memory block that is freed with it; 0 where it goes to a free list of the interpreter instead.
    pub block: u64,
    /// The list or tuple that it goes through, else 0.
    sequence: u64,
    /// How long that was.
    length: u64,
    /// Whether it may have taken an item for a pass that was never made.
    pub runs_ahead: bool,
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
    /// Whether iterators of ranges, lists and tuples go to free lists (since 3.14).
    has_free_lists: bool,
    /// In a tuple: its first item.
    tuple_items: usize,
}

/// `PyGC_Head`, in front of objects that the garbage collector tracks.
const GC_HEAD: u64 = 16;
const UNKNOWN: u64 = u64::MAX;
/// From where the number of something that counts down is taken.
const TOP: u64 = 1 << 62;
/// In a type: the function that takes the next item.
const NEXT: u64 = 224;

/// An object: references, type, then its own words.
struct Words {
    object: u64,
    words: [u64; 7],
    count: usize,
}

impl Words {
    fn of(object: u64) -> Self {
        let (words, count) = sys::read_words::<7>(object);
        Self { object, words, count }
    }

    /// References to it but one. Since 3.14 the upper half of the word has other things.
    fn others(&self) -> u32 {
        (self.words[0] as u32).wrapping_sub(1)
    }

    /// Whether it has references. What was freed has none, or in their place the address of the next free block: bits that an
    /// object has only with more than 2^32 references.
    fn is_alive(&self) -> bool {
        self.words[0] as u32 != 0 && (self.words[0] >> 32) as u16 == 0
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
            has_free_lists: layout.iterators_have_free_lists,
            tuple_items: layout.tuple_items as usize,
        }
    }

    /// What an object is that may be an iterator.
    pub fn kind(&self, object: u64) -> Kind {
        let words = Words::of(object);
        match words.kind() {
            0 => Kind::Other,
            _ if !words.is_alive() => Kind::Other,
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

    /// The final count of a loop whose counter is about to be freed; `None` where it cannot be read.
    pub fn last_count(&self, counter: Counter) -> Option<u64> {
        let words = Words::of(counter.object);
        match words.kind() {
            kind if kind == self.enumerate => Some(count_of_index(words.at(16)?)),
            kind if kind == self.range => self.of_range(&words).map(|range| range.count),
            kind if self.dictionary.contains(&kind) => of_dictionary(&words).map(|items| items.count),
            kind if self.is_simple(kind) => last_index(&words, counter),
            _ => None,
        }
    }

    fn progress(&self, words: &Words) -> Option<Progress> {
        let told = match words.kind() {
            kind if kind == self.enumerate => self.of_enumerate(words),
            kind if kind == self.zip => self.of_zip(words),
            kind if self.dictionary.contains(&kind) => of_dictionary(words),
            _ => return self.simple(words),
        };
        // Where others have what is inside it, it does not matter who has the iterator.
        told.map(|progress| Progress {
            others: if progress.others == 0 { words.others() } else { u32::MAX },
            ..progress
        })
    }

    fn simple(&self, words: &Words) -> Option<Progress> {
        let is_range = words.kind() == self.range;
        let progress = if is_range { self.of_range(words) } else { of_sequence(words) }?;
        let block = match self.has_free_lists {
            true => 0,
            false => words.object - if is_range { 0 } else { GC_HEAD },
        };
        let sequence = if is_range { 0 } else { words.at(24)? };
        let length = progress.count.saturating_add(progress.left);
        let counter = Counter { object: words.object, block, sequence, length, runs_ahead: false };
        Some(Progress { others: words.others(), counter, ..progress })
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

    /// { index, iterator }; the index begins where the user said, and the iterator ends first.
    fn of_enumerate(&self, words: &Words) -> Option<Progress> {
        let (index, inner) = (words.at(16)?, words.at(24)?);
        let progress = self.inner(inner).unwrap_or(Progress { is_whole: index == 1, ..counting_up(index) });
        Some(Progress { count: count_of_index(index), counter: tracked(words), ..progress })
    }

    /// { size, tuple of iterators }: as far as the first of them, which takes an item also where another one has none left.
    fn of_zip(&self, words: &Words) -> Option<Progress> {
        let (size, iterators) = (words.at(16)?, words.at(24)?);
        let first = Words::of(iterators).at(self.tuple_items).filter(|_| size > 0)?;
        let first = self.inner(first)?;
        Some(Progress { left: UNKNOWN, counter: Counter { runs_ahead: true, ..first.counter }, ..first })
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

/// The final index. Since 3.13 an exhausted list iterator has -1 and no list; the list is alive, or was freed just before and
/// still has its length. One that became shorter may have ended the loop before its index.
fn last_index(words: &Words, counter: Counter) -> Option<u64> {
    let is_length = |length: &u64| (counter.length..TOP).contains(length); // debug allocators overwrite what was freed
    match words.at(16)? {
        index if (index as i64) < 0 => Words::of(counter.sequence).at(16).filter(is_length),
        index => Some(index),
    }
}

/// { dictionary, items at the start or -1 when it was changed, place, result, items left }.
fn of_dictionary(words: &Words) -> Option<Progress> {
    let (all, left) = (words.at(24)?, words.at(48)?);
    let (first, counter) = (all.saturating_sub(left), tracked(words));
    Some(Progress { first, is_whole: true, counter, ..counting_down(left) })
}

/// A counter that the garbage collector tracks.
fn tracked(words: &Words) -> Counter {
    let object = words.object;
    Counter { object, block: object - GC_HEAD, ..Counter::default() }
}

/// An index that may begin below zero, as a number that is never 0.
fn count_of_index(index: u64) -> u64 {
    TOP.wrapping_add(index)
}

fn counting_up(index: u64) -> Progress {
    Progress { count: index, first: index, is_whole: true, left: UNKNOWN, ..Progress::default() }
}

fn counting_down(left: u64) -> Progress {
    Progress { count: TOP.saturating_sub(left), first: 1, left, ..Progress::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types by numbers of their own: nobody reads what is there.
    const TYPES: Types = Types {
        range: 1 << 12,
        list: 2 << 12,
        tuple: 3 << 12,
        enumerate: 4 << 12,
        zip: 5 << 12,
        dictionary: [6 << 12, 7 << 12, 8 << 12],
        range_counts_down: false,
        has_free_lists: false,
        tuple_items: 24,
    };
    const SINCE_3_12: Types = Types { range_counts_down: true, ..TYPES };
    const SINCE_3_14: Types = Types { has_free_lists: true, ..SINCE_3_12 };

    /// An object with one reference.
    fn object(kind: u64, own: [u64; 5]) -> [u64; 7] {
        [1, kind, own[0], own[1], own[2], own[3], own[4]]
    }

    fn address(object: &[u64; 7]) -> u64 {
        object.as_ptr() as u64
    }

    fn progress(types: Types, object: &[u64; 7]) -> Progress {
        crate::process::set_own_pid();
        match types.kind(address(object)) {
            Kind::Telling(progress) => progress,
            kind => panic!("{kind:?}"),
        }
    }

    /// The passes that an iterator made from one state to its last one.
    fn passes_until(types: Types, object: &mut [u64; 7], last: [u64; 5]) -> Option<u64> {
        let seen = progress(types, object);
        object[2..].copy_from_slice(&last);
        types.last_count(seen.counter).map(|count| count - seen.count)
    }

    #[test]
    fn the_last_count_is_read_from_an_iterator_that_is_about_to_be_freed() {
        let list = object(0, [100, 0, 0, 0, 0]);
        let at = |index| [index, address(&list), 0, 0, 0];
        assert_eq!(passes_until(TYPES, &mut object(TYPES.list, at(40)), at(60)), Some(20), "left by break");
        assert_eq!(passes_until(TYPES, &mut object(TYPES.tuple, at(40)), [100, 0, 0, 0, 0]), Some(60));
        let minus_one = [u64::MAX, 0, 0, 0, 0];
        assert_eq!(passes_until(TYPES, &mut object(TYPES.list, at(40)), minus_one), Some(60), "since 3.13");
        let shrinks = object(0, [41, 0, 0, 0, 0]);
        let mut iterator = object(TYPES.list, [40, address(&shrinks), 0, 0, 0]);
        let seen = progress(TYPES, &iterator).counter;
        iterator[2..].copy_from_slice(&minus_one);
        assert_eq!(TYPES.last_count(seen), Some(41));
        assert_eq!(TYPES.last_count(Counter { length: 42, ..seen }), None, "it became shorter");
        let range = |index| [index, 0, 1, 100, 0];
        assert_eq!(passes_until(TYPES, &mut object(TYPES.range, range(40)), range(41)), Some(1));
        let range = |left| [100 - left, 1, left, 0, 0];
        assert_eq!(passes_until(SINCE_3_12, &mut object(TYPES.range, range(40)), range(0)), Some(40));
        let (items, changed) = ([7, 50, 0, 0, 30], [0, u64::MAX, 0, 0, 25]);
        assert_eq!(passes_until(TYPES, &mut object(TYPES.dictionary[1], items), changed), Some(5));
    }

    #[test]
    fn enumerate_tells_its_own_index_when_what_it_goes_through_is_gone() {
        let list = object(0, [9, 0, 0, 0, 0]);
        let inner = object(TYPES.list, [4, address(&list), 0, 0, 0]);
        let at = |index: i64| [index as u64, address(&inner), 0, 0, 0];
        let found = progress(TYPES, &object(TYPES.enumerate, at(-1)));
        assert_eq!((found.first, found.left, found.others), (4, 5, 0));
        let gone = [2, 0, 0, 0, 0];
        assert_eq!(passes_until(TYPES, &mut object(TYPES.enumerate, at(-1)), gone), Some(3));
    }

    #[test]
    fn other_references_are_counted_also_those_to_what_is_inside() {
        let list = object(0, [9, 0, 0, 0, 0]);
        let mut iterator = object(TYPES.list, [4, address(&list), 0, 0, 0]);
        assert_eq!(progress(TYPES, &iterator).others, 0);
        iterator[0] = 2;
        assert_eq!(progress(TYPES, &iterator).others, 1);
        let outer = object(TYPES.enumerate, [4, address(&iterator), 0, 0, 0]);
        assert_eq!(progress(TYPES, &outer).others, u32::MAX, "somebody else has what it goes through");
        iterator[0] = 1 | 5 << 48;
        assert_eq!(progress(TYPES, &iterator).others, 0, "flags since 3.14");
    }

    #[test]
    fn an_iterator_that_was_freed_is_none() {
        crate::process::set_own_pid();
        let mut range = object(TYPES.range, [4, 0, 1, 9, 0]);
        assert!(matches!(TYPES.kind(address(&range)), Kind::Telling(_)));
        range[0] = 0;
        assert!(matches!(TYPES.kind(address(&range)), Kind::Other));
        range[0] = address(&range);
        assert!(matches!(TYPES.kind(address(&range)), Kind::Other), "it is in a list of free blocks");
    }

    #[test]
    fn the_freed_block_begins_with_the_gc_head() {
        let list = object(0, [9, 0, 0, 0, 0]);
        let iterator = object(TYPES.list, [4, address(&list), 0, 0, 0]);
        let range = object(TYPES.range, [4, 0, 1, 9, 0]);
        let keys = object(TYPES.dictionary[0], [1, 9, 0, 0, 4]);
        let block = |types, object| progress(types, object).counter.block;
        assert_eq!(block(TYPES, &iterator), address(&iterator) - 16);
        assert_eq!(block(TYPES, &range), address(&range), "it refers to nothing and is not tracked");
        assert_eq!(block(SINCE_3_14, &iterator), 0, "it goes to a free list");
        assert_eq!(block(SINCE_3_14, &keys), address(&keys) - 16);
    }

    #[test]
    fn a_zip_is_counted_by_its_first_iterator_which_may_be_ahead() {
        let range = object(TYPES.range, [4, 0, 1, 9, 0]);
        let tuple = object(0, [2, address(&range), 0, 0, 0]);
        let found = progress(TYPES, &object(TYPES.zip, [2, address(&tuple), 0, 0, 0]));
        assert_eq!((found.count, found.left), (4, UNKNOWN));
        assert_eq!((found.counter.block, found.counter.runs_ahead), (address(&range), true));
    }
}
