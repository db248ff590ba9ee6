//! Which blocks hold an object, and which words of such a block are no references. A block is judged by its first words alone.

use heaplens_cpython::fixed::object::{REFERENCES, SIZE};
use heaplens_cpython::fixed::{type_flag, unicode};
use heaplens_cpython::pools::LARGEST_SMALL;
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Block;

use super::class::{Class, ClassId, ClassKind};
use super::interpreter::Python;
use super::numpy::ndarray;
use super::text::is_compact_ascii;

/// More references to one object than any has. What lives for ever (3.12) has 2³² − 1.
const MOST_REFERENCES: u64 = 1 << 33;

/// An object in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonObject {
    /// Where it begins: what `id()` says.
    pub address: Addr,
    /// Where its block begins: at the collector's links, if it has any.
    pub block: Addr,
    /// Its type.
    pub class: ClassId,
    /// Whether the collector has it in its lists.
    pub is_tracked: bool,
    /// Words of the block, from its start, that are non-owning pointers: bit n is word n. The collector's links, lists
    /// of weak references, and what a weak reference refers to.
    pub non_owning_words: u64,
}

impl<M: ReadMemory> Python<'_, M> {
    /// The object in a block, if there is one. `words` are the first words of the block: six are enough.
    ///
    /// Asked for every block of a heap. Measured in a process that had imported TensorFlow: see the tests.
    #[inline]
    pub fn object_in(&self, block: Block, words: &[u64]) -> Option<PythonObject> {
        [0, 2, 4].into_iter().find_map(|lead| self.object_after(lead, block, words))
    }

    /// Whether a small block is a list, tuple or dict that the interpreter keeps in a free list: it is not linked any more, and has no
    /// references or the next one of its list instead of their number. What it held is still there, and is not held.
    pub fn is_in_free_list(&self, words: &[u64]) -> bool {
        let &[0, _, references, class, ..] = words else { return false };
        let is_free = (references == 0 || is_address(references)) && is_address(class);
        is_free
            && self.class_at(Addr::new(class)).is_some_and(|class| {
                let is_kept = matches!(class.kind, ClassKind::List | ClassKind::Tuple | ClassKind::Dict);
                is_kept && class.lead == Bytes::new(16) && !class.has(type_flag::HEAP_TYPE)
            })
    }

    /// Whether a block of `malloc` is an object without references, which the interpreter keeps for later use: who would have freed it did
    /// not.
    pub fn is_kept(&self, words: &[u64]) -> bool {
        let &[0, _, references, class, ..] = words else { return false };
        let is_unused = references == 0 || is_address(references);
        let class = is_address(class).then(|| self.class_at(Addr::new(class))).flatten();
        is_unused
            && class.is_some_and(|class| class.lead == Bytes::new(16) && !class.has(type_flag::HEAP_TYPE))
    }

    /// The references that an object counts; `None` where they cannot be read.
    pub fn references(&self, object: Addr) -> Option<u64> {
        self.layout.references(self.reader.word_in(object, REFERENCES)?)
    }

    fn object_after(&self, lead: usize, block: Block, words: &[u64]) -> Option<PythonObject> {
        let &[references, class, ..] = words.get(lead..)? else { return None };
        let count = self.layout.references(references)?;
        if count == 0 || count > MOST_REFERENCES || !is_address(class) {
            return None;
        }
        let class = self.class_at(Addr::new(class))?;
        let before = Bytes::new(8 * lead as u64);
        let fits = class.lead == before && before + class.least_size <= block.size;
        if !fits || self.is_pair(references) {
            return None;
        }
        // Memory that malloc hands out again may hold the words of an old object.
        if block.size.get() > LARGEST_SMALL
            && class.has(type_flag::HAVE_GC)
            && !are_links(words[lead - 2], words[lead - 1])
        {
            return None;
        }
        let is_tracked = class.has(type_flag::HAVE_GC) && words[lead - 2] != 0;
        let unused = self.used(&class, &words[lead..]).map_or(0, |used| old_words(before.get() + used));
        let address = block.address + before;
        let non_owning_words = class.non_owning_words | unused | self.borrowed_words(&class, address);
        Some(PythonObject { address, block: block.address, class: class.id, is_tracked, non_owning_words })
    }

    /// Of an array that does not own its data: the pointer to them. It holds them by the array, or whatever else, that it is a view of.
    fn borrowed_words(&self, class: &Class, array: Addr) -> u64 {
        let owns = |flags: u32| flags & ndarray::OWNS_DATA != 0;
        let is_view = class.kind == ClassKind::NumpyArray
            && self.reader.half_in(array, ndarray::FLAGS).is_some_and(|flags| !owns(flags))
            && self.reader.pointer_in(array, ndarray::BASE).is_some();
        if is_view { 1 << ((class.lead.get() + ndarray::DATA) / 8) } else { 0 }
    }

    /// How long an object of the interpreter's own is, as far as references can be in it, by its first words. Blocks come in steps of
    /// 16 bytes, and what follows is old. `None` where that is not known.
    fn used(&self, class: &Class, words: &[u64]) -> Option<u64> {
        if class.has(type_flag::HEAP_TYPE) {
            return None; // its instances may have more than their type says
        }
        match class.kind {
            ClassKind::List
            | ClassKind::Dict
            | ClassKind::Set
            | ClassKind::Cell
            | ClassKind::Function
            | ClassKind::BuiltinFunction
            | ClassKind::Module
            | ClassKind::WeakReference
            | ClassKind::Traceback => Some(class.type_object.basicsize),
            // Behind it is the program itself, where what was found by a name is remembered and not held.
            ClassKind::Code => Some(class.type_object.basicsize),
            ClassKind::Tuple => Some(self.layout.tuple.items + 8 * words.get(SIZE as usize / 8)?),
            ClassKind::Integer | ClassKind::Float => Some(SIZE),
            ClassKind::Text if is_compact_ascii(*words.get(unicode::STATE as usize / 8)?) => {
                Some(unicode::STATE)
            }
            ClassKind::Plain if class.has(type_flag::BYTES) => Some(SIZE),
            _ => None,
        }
    }

    /// Whether what should count references is an address of an object itself: then this is a row of pointers, one of them to a
    /// type. Programs that are not moved when they are loaded have their objects at such small addresses.
    fn is_pair(&self, references: u64) -> bool {
        is_address(references) && self.class_of(Addr::new(references)).is_some()
    }
}

/// Whether these may be the collector's links: to two neighbours, with flags in their low bits, or to none.
fn are_links(next: u64, before: u64) -> bool {
    const FLAGS: u64 = 7;
    match (next & !FLAGS, before & !FLAGS) {
        (0, 0) => true,
        (next, before) => is_address(next) && is_address(before),
    }
}

/// Words from there on, as bits.
fn old_words(from: u64) -> u64 {
    u64::MAX.checked_shl(u32::try_from(from.div_ceil(8)).unwrap_or(u32::MAX)).unwrap_or(0)
}
