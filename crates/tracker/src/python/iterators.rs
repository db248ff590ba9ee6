//! How far an iterator is: the built-in ones keep an index or what is left, in a word that can be read.
//!
//! Only the iterator of a `for` loop that is running is looked at: the frame keeps it alive on its stack.

use core::ffi::CStr;

use crate::symbols::Exports;

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
}

const UNKNOWN: u64 = u64::MAX;
/// From where the number of something that counts down is taken.
const TOP: u64 = 1 << 62;

fn word(object: u64, offset: u64) -> u64 {
    // SAFETY: callers read fields of an object that a frame of this thread keeps alive, of a type with this layout.
    unsafe { ((object + offset) as *const u64).read() }
}

impl Types {
    /// Finds them.
    pub fn of(exports: &Exports, range_counts_down: bool) -> Self {
        let address = |name: &CStr| exports.find(name).map_or(0, |symbol| symbol.address);
        Self {
            range: address(c"PyRangeIter_Type"),
            list: address(c"PyListIter_Type"),
            tuple: address(c"PyTupleIter_Type"),
            enumerate: address(c"PyEnum_Type"),
            zip: address(c"PyZip_Type"),
            dictionary: [c"PyDictIterKey_Type", c"PyDictIterValue_Type", c"PyDictIterItem_Type"].map(address),
            range_counts_down,
        }
    }

    /// How far an iterator is; `None` where its type does not tell.
    pub fn progress(&self, iterator: u64) -> Option<Progress> {
        let found = match word(iterator, 8) {
            0 => None,
            kind if kind == self.range => Some(self.of_range(iterator)),
            kind if kind == self.list || kind == self.tuple => Some(of_sequence(iterator)),
            kind if self.dictionary.contains(&kind) => Some(of_dictionary(iterator)),
            kind if kind == self.enumerate => Some(self.of_enumerate(iterator)),
            kind if kind == self.zip => self.of_zip(iterator),
            _ => None,
        };
        found.map(|progress| Progress { iterator, ..progress })
    }

    /// Before 3.12 { index, start, step, length }, since then { start, step, what is left }.
    fn of_range(&self, iterator: u64) -> Progress {
        if self.range_counts_down {
            let (next, step, left) = (word(iterator, 16), word(iterator, 24), word(iterator, 32));
            // Of `range(n)` the next item tells how many were taken; that it began at 0 is sure only with the first one,
            // and where the next item is 2 it is more likely the first one of `range(1, n)`.
            let taken =
                next.checked_div(step).filter(|&taken| taken > 2 && taken < TOP / 2 && taken * step == next);
            return Progress { first: taken.unwrap_or(1), is_whole: next == step, ..counting_down(left) };
        }
        let (index, length) = (word(iterator, 16), word(iterator, 40));
        Progress { left: length.saturating_sub(index), ..counting_up(index) }
    }

    /// { index, iterator }; the index begins where the user said.
    fn of_enumerate(&self, iterator: u64) -> Progress {
        let (index, inner) = (word(iterator, 16), word(iterator, 24));
        let inner = (inner != 0).then(|| self.simple(inner)).flatten();
        inner.unwrap_or(Progress { is_whole: index == 1, ..counting_up(index) })
    }

    /// { size, tuple of iterators }: as far as the first of them.
    fn of_zip(&self, iterator: u64) -> Option<Progress> {
        let (size, iterators) = (word(iterator, 16), word(iterator, 24));
        if size == 0 || iterators == 0 {
            return None;
        }
        self.simple(word(iterators, 24)).map(|first| Progress { left: UNKNOWN, ..first })
    }

    /// An iterator inside another: one step and no further.
    fn simple(&self, iterator: u64) -> Option<Progress> {
        let kind = word(iterator, 8);
        let is_simple = [self.range, self.list, self.tuple].contains(&kind);
        if is_simple { self.progress(iterator) } else { None }
    }
}

/// { index, sequence }; the sequence is let go at the end.
fn of_sequence(iterator: u64) -> Progress {
    let (index, sequence) = (word(iterator, 16), word(iterator, 24));
    let left = if sequence == 0 { 0 } else { word(sequence, 16).saturating_sub(index) };
    Progress { left, ..counting_up(index) }
}

/// { dictionary, items at the start, place, result, items left }.
fn of_dictionary(iterator: u64) -> Progress {
    let (all, left) = (word(iterator, 24), word(iterator, 48));
    Progress { left, ..counting_up(all.saturating_sub(left)) }
}

fn counting_up(index: u64) -> Progress {
    Progress { iterator: 0, count: index, first: index, is_whole: true, left: UNKNOWN }
}

fn counting_down(left: u64) -> Progress {
    Progress { iterator: 0, count: TOP.saturating_sub(left), first: 1, is_whole: false, left }
}
