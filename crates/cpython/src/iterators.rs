//! How far an iterator is: the built-in ones keep an index or what is left, in a word that can be read, also at the moment
//! when the iterator is about to be freed.
//!
//! Objects are read whole, as far as they are needed: whoever asks may have to pay for each time that memory is read.

use core::ffi::CStr;

use crate::fixed::{dict_iterator, enumerate, gc, list_iterator, object, tuple_iterator, type_object, zip};
use crate::layout::{Layout, RangeIterator};
use crate::memory::ReadMemory;

/// How far a loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The iterator, by its address.
    pub iterator: u64,
    /// A number that rises by one with each item.
    pub count: u64,
    /// Items taken so far, as well as can be inferred from one reading.
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
    /// What it goes over: a list or a tuple, or of a range the number where it ends; 0 where that is not known.
    over: u64,
    /// How long that was.
    length: u64,
    /// Whether it may have taken an item for an iteration that was never made.
    pub runs_ahead: bool,
}

impl Counter {
    /// Whether it may be the earlier one, further on: not if they go over different things. An iterator from a free list has the
    /// address of one that is gone.
    pub fn may_continue(&self, earlier: &Self) -> bool {
        self.over == earlier.over || self.over == 0 || earlier.over == 0
    }

    /// Whether nobody is told when it goes: it is kept in a free list of the interpreter then.
    pub fn goes_unnoticed(&self) -> bool {
        self.object != 0 && self.block == 0
    }

    /// The same once its object is gone: what it went over still tells it from others.
    pub fn without_object(self) -> Self {
        Self { object: 0, ..self }
    }
}

/// What an object may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An iterator whose progress can be read.
    Countable(Progress),
    /// Another iterator: the object.
    Uncountable(u64),
    /// Something else.
    Other,
}

/// The types whose layout is known, by their addresses; 0 where the interpreter does not export one.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    range: u64,
    list: u64,
    tuple: u64,
    enumerate: u64,
    zip: u64,
    dictionary: [u64; 3],
    range_iterator: RangeIterator,
    /// Whether iterators of ranges, lists and tuples go to free lists.
    has_free_lists: bool,
    /// In a tuple: its first item.
    tuple_items: u64,
}

const UNKNOWN: u64 = u64::MAX;
/// From where the number of something that counts down is taken.
const TOP: u64 = 1 << 62;

/// The first words of an object.
struct Words {
    object: u64,
    bytes: [u8; Self::LENGTH],
    filled: usize,
}

impl Words {
    /// Up to the end of the longest iterator.
    const LENGTH: usize = dict_iterator::LEFT as usize + 8;

    fn of<M: ReadMemory>(memory: &M, object: u64) -> Self {
        let mut bytes = [0; Self::LENGTH];
        let filled = memory.read(object, &mut bytes);
        Self { object, bytes, filled }
    }

    /// The word that counts references; 0 where it cannot be read.
    fn references(&self) -> u64 {
        self.at(object::REFERENCES).unwrap_or(0)
    }

    /// References to it but one. Since 3.14 the upper half of the word has other things.
    fn others(&self) -> u32 {
        (self.references() as u32).wrapping_sub(1)
    }

    /// Whether it has references. What was freed has none, or instead the address of the next free block: bits that an
    /// object has only with more than 2^32 references.
    fn is_alive(&self) -> bool {
        self.references() as u32 != 0 && (self.references() >> 32) as u16 == 0
    }

    /// The type of the object; 0 where it cannot be read.
    fn kind(&self) -> u64 {
        self.at(object::TYPE).unwrap_or(0)
    }

    /// The word at an offset in bytes; `None` where the object's page ends before it.
    fn at(&self, offset: u64) -> Option<u64> {
        let offset = offset as usize;
        let word = self.bytes.get(..self.filled)?.get(offset..offset + 8)?;
        word.try_into().ok().map(u64::from_le_bytes)
    }
}

impl Types {
    /// Finds them: `find` has the addresses of an interpreter's exports.
    pub fn of(find: impl Fn(&CStr) -> Option<u64>, layout: &Layout) -> Self {
        let address = |name: &CStr| find(name).unwrap_or(0);
        Self {
            range: address(c"PyRangeIter_Type"),
            list: address(c"PyListIter_Type"),
            tuple: address(c"PyTupleIter_Type"),
            enumerate: address(c"PyEnum_Type"),
            zip: address(c"PyZip_Type"),
            dictionary: [c"PyDictIterKey_Type", c"PyDictIterValue_Type", c"PyDictIterItem_Type"].map(address),
            range_iterator: layout.range_iterator,
            has_free_lists: layout.iterators_have_free_lists,
            tuple_items: layout.tuple.items,
        }
    }

    /// What an object is that may be an iterator.
    pub fn kind<M: ReadMemory>(&self, memory: &M, object: u64) -> Kind {
        let words = Words::of(memory, object);
        match words.kind() {
            0 => Kind::Other,
            _ if !words.is_alive() => Kind::Other,
            kind if self.is_countable(kind) => match self.progress(memory, &words) {
                Some(progress) => Kind::Countable(Progress { iterator: object, ..progress }),
                None => Kind::Uncountable(object),
            },
            kind => match memory.word(kind + type_object::ITERNEXT) {
                Some(next) if next != 0 => Kind::Uncountable(object),
                _ => Kind::Other,
            },
        }
    }

    fn is_countable(&self, kind: u64) -> bool {
        self.is_simple(kind) || [self.enumerate, self.zip].contains(&kind) || self.dictionary.contains(&kind)
    }

    fn is_simple(&self, kind: u64) -> bool {
        [self.range, self.list, self.tuple].contains(&kind)
    }

    /// The final count of a loop whose counter is about to be freed; `None` where it cannot be read.
    pub fn last_count<M: ReadMemory>(&self, memory: &M, counter: Counter) -> Option<u64> {
        let words = Words::of(memory, counter.object);
        match words.kind() {
            kind if kind == self.enumerate => Some(count_of_index(words.at(enumerate::INDEX)?)),
            kind if kind == self.range => self.of_range(&words).map(|range| range.count),
            kind if self.dictionary.contains(&kind) => of_dictionary(&words).map(|items| items.count),
            kind if self.is_simple(kind) => last_index(memory, words.at(self.fields_of(kind).0)?, counter),
            _ => None,
        }
    }

    /// Whether iterators may lie in a free list.
    pub fn has_free_lists(&self) -> bool {
        self.has_free_lists
    }

    /// The final count of a loop whose counter lies in a free list, as it was left; `None` where it does not, or was another loop's since. Of a
    /// list that changed nobody knows whether it did so before the loop ended.
    pub fn count_in_free_list<M: ReadMemory>(&self, memory: &M, counter: Counter) -> Option<u64> {
        let words = Words::of(memory, counter.object);
        if !self.has_free_lists || !self.is_simple(words.kind()) || words.is_alive() {
            return None;
        }
        let over = self.over(&words)?;
        let is_exhausted = over == 0 && words.kind() != self.range;
        let is_same = || Words::of(memory, counter.over).at(object::SIZE) == Some(counter.length);
        let is_its_own = if is_exhausted { is_same() } else { over == counter.over };
        if is_its_own { self.last_count(memory, counter) } else { None }
    }

    fn progress<M: ReadMemory>(&self, memory: &M, words: &Words) -> Option<Progress> {
        let progress = match words.kind() {
            kind if kind == self.enumerate => self.of_enumerate(memory, words),
            kind if kind == self.zip => self.of_zip(memory, words),
            kind if self.dictionary.contains(&kind) => of_dictionary(words),
            _ => return self.simple(memory, words),
        };
        // Where others have what is inside it, it does not matter who has the iterator.
        progress.map(|progress| Progress {
            others: if progress.others == 0 { words.others() } else { u32::MAX },
            ..progress
        })
    }

    fn simple<M: ReadMemory>(&self, memory: &M, words: &Words) -> Option<Progress> {
        let is_range = words.kind() == self.range;
        let fields = self.fields_of(words.kind());
        let progress = if is_range { self.of_range(words) } else { of_sequence(memory, words, fields) }?;
        let block = match self.has_free_lists {
            true => 0,
            false => words.object.wrapping_sub(if is_range { 0 } else { gc::LINKS }),
        };
        let over = self.over(words)?;
        let length = progress.count.saturating_add(progress.left);
        let counter = Counter { object: words.object, block, over, length, runs_ahead: false };
        Some(Progress { others: words.others(), counter, ..progress })
    }

    /// Of the iterator of a list or a tuple: index and sequence.
    fn fields_of(&self, kind: u64) -> (u64, u64) {
        match kind == self.list {
            true => (list_iterator::INDEX, list_iterator::SEQUENCE),
            false => (tuple_iterator::INDEX, tuple_iterator::SEQUENCE),
        }
    }

    /// What one of them goes over.
    fn over(&self, words: &Words) -> Option<u64> {
        match self.range_iterator {
            _ if words.kind() != self.range => words.at(self.fields_of(words.kind()).1),
            RangeIterator::CountsUp { .. } => Some(0),
            RangeIterator::CountsDown { start, step, left } => {
                let (next, step, left) = (words.at(start)?, words.at(step)?, words.at(left)?);
                Some(next.wrapping_add(step.wrapping_mul(left)))
            }
        }
    }

    fn of_range(&self, words: &Words) -> Option<Progress> {
        match self.range_iterator {
            RangeIterator::CountsUp { index, length } => {
                let (index, length) = (words.at(index)?, words.at(length)?);
                Some(Progress { left: length.saturating_sub(index), ..counting_up(index) })
            }
            RangeIterator::CountsDown { start, step, left } => {
                let (next, step, left) = (words.at(start)?, words.at(step)?, words.at(left)?);
                // Of `range(n)` the next item says how many were taken; that it began at 0 is sure only with the first one,
                // and where the next item is 2 it is more likely the first one of `range(1, n)`.
                let taken = next
                    .checked_div(step)
                    .filter(|&taken| taken > 2 && taken < TOP / 2 && taken * step == next);
                let (first, is_whole) = (taken.unwrap_or(1), next == step);
                Some(Progress { first, is_whole, ..counting_down(left) })
            }
        }
    }

    /// The index begins where the user said, and the iterator ends first.
    fn of_enumerate<M: ReadMemory>(&self, memory: &M, words: &Words) -> Option<Progress> {
        let (index, inner) = (words.at(enumerate::INDEX)?, words.at(enumerate::ITERATOR)?);
        let own = Progress { is_whole: index == 1, ..counting_up(index) };
        let progress = self.inner(memory, inner).unwrap_or(own);
        Some(Progress { count: count_of_index(index), counter: tracked(words), ..progress })
    }

    /// As far as the first of its iterators, which takes an item also where another one has none left.
    fn of_zip<M: ReadMemory>(&self, memory: &M, words: &Words) -> Option<Progress> {
        let (size, iterators) = (words.at(zip::SIZE)?, words.at(zip::ITERATORS)?);
        let first = Words::of(memory, iterators).at(self.tuple_items).filter(|_| size > 0)?;
        let first = self.inner(memory, first)?;
        Some(Progress { left: UNKNOWN, counter: Counter { runs_ahead: true, ..first.counter }, ..first })
    }

    /// An iterator inside another: one step and no further.
    fn inner<M: ReadMemory>(&self, memory: &M, iterator: u64) -> Option<Progress> {
        let words = Words::of(memory, iterator);
        if self.is_simple(words.kind()) { self.simple(memory, &words) } else { None }
    }
}

/// The sequence is let go at the end.
fn of_sequence<M: ReadMemory>(memory: &M, words: &Words, (index, sequence): (u64, u64)) -> Option<Progress> {
    let (index, sequence) = (words.at(index)?, words.at(sequence)?);
    let length = if sequence == 0 { index } else { Words::of(memory, sequence).at(object::SIZE)? };
    Some(Progress { left: length.saturating_sub(index), ..counting_up(index) })
}

/// The final index. Since 3.13 an exhausted list iterator has -1 and no list; the list is alive, or was freed just before and
/// still has its length. One that became shorter may have ended the loop before its index.
fn last_index<M: ReadMemory>(memory: &M, index: u64, counter: Counter) -> Option<u64> {
    let is_length = |length: &u64| (counter.length..TOP).contains(length); // debug allocators overwrite what was freed
    match (index as i64) < 0 {
        true => Words::of(memory, counter.over).at(object::SIZE).filter(is_length),
        false => Some(index),
    }
}

/// It keeps how many items there were at the start, -1 when the dict was changed, and how many are left.
fn of_dictionary(words: &Words) -> Option<Progress> {
    let (all, left) = (words.at(dict_iterator::USED)?, words.at(dict_iterator::LEFT)?);
    let (first, counter) = (all.saturating_sub(left), tracked(words));
    Some(Progress { first, is_whole: true, counter, ..counting_down(left) })
}

/// A counter that the garbage collector tracks.
fn tracked(words: &Words) -> Counter {
    let object = words.object;
    Counter { object, block: object.wrapping_sub(gc::LINKS), ..Counter::default() }
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
#[path = "iterators_tests.rs"]
mod tests;
