//! What belongs to an object beside its own block, what of it is not in use, and how many elements it has.

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::fixed::{
    array, bytearray, deque, deque_block, dict, list, lru_cache, module, ordered_dict, set, type_flag,
    type_object, unicode,
};
use heaplens_cpython::layout::Generator;
use heaplens_cpython::type_objects::TypeObject;
use heaplens_cpython::unicode::State;
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::Addr;
use heaplens_snapshot::Span;

use super::class::{Class, ClassKind};
use super::dicts::MOST_HASHES;
use super::interpreter::Python;
use super::numpy::ndarray;
use super::objects::PythonObject;
use super::reader::{after, span};
use super::references::Label;
use super::text::LONGEST_NAME;
use crate::heap::scan::NonOwningPart;

/// Bytes of an element of a set with its hash, and elements that a set has room for in itself.
const SET_ENTRY: u64 = 16;
const SMALL_SET: u64 = 8;
/// The pointer to a semaphore in a lock, up to Python 3.13, and bytes of a semaphore.
const SEMAPHORE_OF_LOCK: u64 = 16;
const SEMAPHORE_SIZE: u64 = 32;
/// Attributes of one object that are searched for numbers.
const MOST_ATTRIBUTES: usize = 256;
/// Nodes of an OrderedDict beyond this many are not read.
const MOST_NODES: usize = 1 << 24;

impl<M: ReadMemory> Python<'_, M> {
    /// Memory that belongs to an object: an address in each block, which need not be its beginning. The `__dict__` of an object
    /// and the tuple of a function's closure are parts of it, shared keys are not.
    pub fn parts(&self, object: Addr) -> Vec<Addr> {
        let mut parts = Vec::new();
        if let Some(class) = self.class_of(object) {
            self.add_by_kind(object, &class, &mut parts);
            self.add_attributes(object, &class, &mut parts);
        }
        parts
    }

    fn add_by_kind(&self, object: Addr, class: &Class, into: &mut Vec<Addr>) {
        match class.kind {
            ClassKind::List => self.add(object, list::ITEMS, into),
            ClassKind::Dict => self.add_tables(object, into),
            ClassKind::OrderedDict => self.add_ordered(object, into),
            ClassKind::Set => self.add_set_table(object, into),
            ClassKind::Deque => into.extend(self.deque_blocks(object)),
            ClassKind::Function => self.add_function(object, into),
            ClassKind::Generator => self.add_frame(object, into),
            ClassKind::Class => self.add_class(object, into),
            ClassKind::Module => {
                self.add_dict(object, module::DICT, into);
                self.add(object, module::STATE, into);
            }
            ClassKind::Cache => self.add_dict(object, lru_cache::CACHE, into),
            ClassKind::NumpyArray => self.add_array(object, into),
            ClassKind::ByteArray => self.add(object, bytearray::BYTES, into),
            ClassKind::Array => self.add(object, array::ITEMS, into),
            ClassKind::Text => self.add_text(object, into),
            _ => {}
        }
    }

    /// What a word of an object leads to.
    fn add(&self, object: Addr, offset: u64, into: &mut Vec<Addr>) {
        into.extend(self.reader.pointer_in(object, offset));
    }

    /// The dict that a word of an object leads to, and its tables.
    fn add_dict(&self, object: Addr, offset: u64, into: &mut Vec<Addr>) {
        if let Some(dict) = self.reader.pointer_in(object, offset) {
            into.push(dict);
            self.add_tables(dict, into);
        }
    }

    fn add_ordered(&self, object: Addr, into: &mut Vec<Addr>) {
        self.add_tables(object, into);
        self.add(object, ordered_dict::FAST_NODES, into);
        let most = self.reader.word_in(object, dict::USED).unwrap_or(0);
        let next = |node: &Addr| self.reader.pointer_in(*node, ordered_dict::NODE_NEXT);
        let first = self.reader.pointer_in(object, ordered_dict::FIRST);
        into.extend(std::iter::successors(first, next).take((most as usize).min(MOST_NODES)));
    }

    fn add_set_table(&self, set: Addr, into: &mut Vec<Addr>) {
        let table = self.reader.pointer_in(set, set::TABLE);
        into.extend(table.filter(|&table| table != after(set, set::SMALLTABLE)));
    }

    fn add_function(&self, function: Addr, into: &mut Vec<Addr>) {
        self.add(function, self.layout.function.closure, into);
        self.add(function, self.layout.function.defaults, into);
        self.add_dict(function, self.layout.function.kwdefaults, into);
    }

    /// The frame of a generator, where it is an object of its own.
    fn add_frame(&self, generator: Addr, into: &mut Vec<Addr>) {
        if let Generator::Object(word) = self.layout.generator {
            self.add(generator, word, into);
        }
    }

    fn add_class(&self, object: Addr, into: &mut Vec<Addr>) {
        self.add_dict(object, type_object::DICT, into);
        if self.class_at(object).is_some_and(|class| class.has(type_flag::HEAP_TYPE)) {
            self.add(object, self.layout.heap_type.cached_keys, into);
            self.add(object, type_object::DOC, into);
        }
    }

    fn add_array(&self, array: Addr, into: &mut Vec<Addr>) {
        let flags = self.reader.half_in(array, ndarray::FLAGS).unwrap_or(0);
        if flags & ndarray::OWNS_DATA != 0 {
            self.add(array, ndarray::DATA, into);
        }
        self.add(array, ndarray::DIMENSIONS, into);
    }

    /// Characters of a string that has them apart, and its copy in UTF-8. A string of ASCII has neither, but its characters
    /// lie where others have the address.
    fn add_text(&self, text: Addr, into: &mut Vec<Addr>) {
        let Some(state) = self.reader.half_in(text, unicode::STATE).map(State::new) else { return };
        if !state.is_compact() {
            self.add(text, self.layout.unicode.compact, into);
        }
        if !state.is_ascii() {
            self.add(text, self.layout.unicode.utf8, into);
        }
    }

    fn add_attributes(&self, object: Addr, class: &Class, into: &mut Vec<Addr>) {
        into.extend(self.values_of(object, class));
        if let Some(dict) = self.dict_of(object, class) {
            into.push(dict);
            self.add_tables(dict, into);
        }
        // Values after the object are in its own block, whoever points to them.
        let TypeObject { flags, basicsize, .. } = class.type_object;
        let inline = self.layout.attributes.inline_values(object.get(), flags, basicsize);
        into.retain(|&part| Some(part.get()) != inline);
    }

    /// Memory of an object that holds nothing, though pointers seem to lie there: the spare capacity of a list, the frame of
    /// a generator that is over, hashes of keys, the order of attributes. Asked for every object of a heap.
    pub fn non_owning_parts(&self, object: PythonObject) -> Vec<NonOwningPart> {
        let Some(class) = self.known(object.class) else { return Vec::new() };
        let mut parts = match class.kind {
            ClassKind::List => self.spare_capacity_of_list(object.address).into_iter().collect(),
            ClassKind::Deque => self.spare_capacity_of_deque(object.address),
            ClassKind::Generator => self.finished_frame(object).into_iter().collect(),
            ClassKind::Dict => self.non_owning_parts_of_dict(object.address),
            ClassKind::Set => self.hashes_of_set(object),
            ClassKind::Lock => self.semaphore_of_lock(object.address).into_iter().collect(),
            ClassKind::JaxArray => self.links_of_arrays(object, &class),
            _ => Vec::new(),
        };
        parts.extend(self.order_of_values(object, &class));
        parts
    }

    /// The order in which attributes were set, which lies beside their values.
    fn order_of_values(&self, object: PythonObject, class: &Class) -> Option<NonOwningPart> {
        let values = self.values_of(object.address, class)?;
        let part = self.order_of(values.get())?;
        let TypeObject { flags, basicsize, .. } = class.type_object;
        let is_inline =
            self.layout.attributes.inline_values(object.address.get(), flags, basicsize).is_some();
        let start = if is_inline { object.block } else { part.whole.start };
        Some(NonOwningPart { whole: Span::new(start, part.whole.end), ..part })
    }

    /// The semaphore of a lock, which the C library does not fill: in the rest of it is what lay there before.
    fn semaphore_of_lock(&self, lock: Addr) -> Option<NonOwningPart> {
        let semaphore = self.reader.pointer_in(lock, SEMAPHORE_OF_LOCK)?;
        let whole = Span::new(semaphore, after(semaphore, SEMAPHORE_SIZE));
        Some(NonOwningPart { whole, non_owning: whole })
    }

    /// JAX lists all arrays: each has links to the one before and the one after it.
    fn links_of_arrays(&self, object: PythonObject, class: &Class) -> Vec<NonOwningPart> {
        const LARGEST: u64 = 1 << 12;
        let size = class.type_object.basicsize.min(LARGEST);
        let whole = Span::new(object.block, after(object.address, size));
        let leads_to_array = |offset: &u64| {
            let pointer = self.reader.pointer_in(object.address, *offset);
            let class = pointer.and_then(|pointer| self.class_of(pointer));
            class.is_some_and(|class| class.kind == ClassKind::JaxArray)
        };
        let words = (0..size / 8).map(|word| 8 * word).filter(leads_to_array);
        let part = |offset: u64| Span::new(after(object.address, offset), after(object.address, offset + 8));
        words.map(|offset| NonOwningPart { whole, non_owning: part(offset) }).collect()
    }

    /// Where a list is full the part is empty: after an odd number of items there may still be an old word in their block.
    fn spare_capacity_of_list(&self, list: Addr) -> Option<NonOwningPart> {
        let items = self.reader.pointer_in(list, list::ITEMS)?;
        let (used, capacity) =
            (self.reader.word_in(list, SIZE)?, self.reader.word_in(list, list::ALLOCATED)?);
        let has_old = used < capacity || used == capacity && capacity % 2 == 1;
        let end = (has_old && capacity < 1 << 40).then(|| items.get().checked_add(8 * capacity))??;
        Some(NonOwningPart {
            whole: Span::new(items, Addr::new(end)),
            non_owning: Span::new(after(items, 8 * used), Addr::new(end)),
        })
    }

    /// Before the first item and after the last.
    fn spare_capacity_of_deque(&self, deque: Addr) -> Vec<NonOwningPart> {
        let blocks: Vec<Addr> = self.deque_blocks(deque).collect();
        let index = |at: u64| self.reader.word_in(deque, at).filter(|&at| at < deque_block::LENGTH);
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Vec::new() };
        let part = |block: Addr, from: u64, to: u64| {
            let item = |at: u64| after(block, deque_block::DATA + 8 * at);
            let whole = Span::new(block, item(deque_block::LENGTH));
            (from < to).then(|| NonOwningPart { whole, non_owning: Span::new(item(from), item(to)) })
        };
        let before = index(deque::LEFTINDEX).and_then(|at| part(*first, 0, at));
        let after = index(deque::RIGHTINDEX).and_then(|at| part(*last, at + 1, deque_block::LENGTH));
        before.into_iter().chain(after).collect()
    }

    fn finished_frame(&self, generator: PythonObject) -> Option<NonOwningPart> {
        let frame = self.layout.finished_frame(&self.reader, generator.address.get())?;
        let words = self.reader.word_in(generator.address, SIZE)?;
        let non_owning = span(frame, frame + 8 * words.min(1 << 20));
        Some(NonOwningPart { whole: Span::new(generator.block, non_owning.end), non_owning })
    }

    /// Hashes beside the elements of a set that look like pointers: that of a number is the number itself. And the table inside of the
    /// object, once the elements are elsewhere: they were there before.
    fn hashes_of_set(&self, object: PythonObject) -> Vec<NonOwningPart> {
        let (mut parts, small) = (Vec::new(), after(object.address, set::SMALLTABLE));
        let table = self.reader.pointer_in(object.address, set::TABLE);
        let mask = self.reader.word_in(object.address, set::MASK).filter(|&mask| mask < MOST_HASHES);
        let (Some(table), Some(mask)) = (table, mask) else { return parts };
        let end = |table: Addr, entries: u64| after(table, SET_ENTRY * entries);
        let is_small = table == small;
        let whole = Span::new(if is_small { object.block } else { table }, end(table, mask + 1));
        let _ = self.reader.each_row(table, mask + 1, |number, [_key, hash]| {
            let at = after(table, SET_ENTRY * number + 8);
            let non_owning = Span::new(at, after(at, 8));
            parts.extend(is_address(hash).then_some(NonOwningPart { whole, non_owning }));
            ControlFlow::Continue(())
        });
        if !is_small {
            let non_owning = Span::new(small, end(small, SMALL_SET));
            parts.push(NonOwningPart { whole: Span::new(object.block, non_owning.end), non_owning });
        }
        parts
    }

    /// How many elements a container may have at most, where it drops others to stay at that.
    pub fn limit(&self, object: Addr) -> Option<u64> {
        let limit = match self.class_of(object)?.kind {
            ClassKind::Deque => self.reader.word_in(object, deque::MAXLEN)?,
            ClassKind::Cache => self.reader.word_in(object, lru_cache::MAXSIZE)?,
            _ => return None,
        };
        // Without a limit it is −1.
        (limit as i64 >= 0).then_some(limit)
    }

    /// Attributes of an object that are whole numbers and not negative, among the first that it has.
    pub fn numbers(&self, object: Addr) -> Vec<(String, u64)> {
        let (mut numbers, mut seen) = (Vec::new(), 0);
        let Some(class) = self.class_of(object) else { return numbers };
        let mut visit = |value: Addr, label: Label| {
            let name = || match label {
                Label::Attribute(name) => self.text(name, LONGEST_NAME),
                Label::Member(name) => self.reader.c_text(name, LONGEST_NAME),
                _ => None,
            };
            numbers.extend(self.number(value).and_then(|number| Some((name()?, number))));
            seen += 1;
            if seen < MOST_ATTRIBUTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let _ = self.each_attribute(object, &class, &mut visit);
        let _ = self.each_member(object, &class, &mut visit);
        numbers
    }

    fn number(&self, object: Addr) -> Option<u64> {
        let number = self.is(object, ClassKind::Integer).then(|| self.integer(object))?;
        u64::try_from(number?).ok()
    }

    /// How many elements a container has.
    pub fn length(&self, object: Addr) -> Option<u64> {
        let count = match self.class_of(object)?.kind {
            ClassKind::List
            | ClassKind::Tuple
            | ClassKind::Deque
            | ClassKind::ByteArray
            | ClassKind::Array => self.reader.word_in(object, SIZE),
            ClassKind::Dict | ClassKind::OrderedDict => self.reader.word_in(object, dict::USED),
            ClassKind::Set => self.reader.word_in(object, set::USED),
            ClassKind::Cache => self.length(self.reader.pointer_in(object, lru_cache::CACHE)?),
            ClassKind::NumpyArray if self.reader.half_in(object, ndarray::AXES)? > 0 => {
                self.reader.word_in(self.reader.pointer_in(object, ndarray::DIMENSIONS)?, 0)
            }
            _ => None,
        };
        count.filter(|&count| count < 1 << 47)
    }
}
