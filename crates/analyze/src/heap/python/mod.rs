//! What objects of CPython are called, read from memory of a process that stands still: blocks of its own allocator, types,
//! where names begin, and how one object leads to another. It never takes part in the process, and trusts no word of it:
//! whatever is read may be half written or no object at all, so every chain ends and every doubt gives `None`.
//!
//! ```text
//!   malloc's or a pool's block    │ (values or weak references, dict) │ (collector's links) │ count │ type │ …
//!                                 start                                                     object
//! ```
//!
//! Of the words before an object which are there is told by its type. Where everything lies is known by `heaplens_cpython`: 3.8 to
//! 3.14 on x86-64, without debugging and with the global lock.

mod classes;
mod constants;
mod dicts;
mod frames;
mod numpy;
mod parts;
mod pools;
mod reader;
mod references;
mod roots;
mod text;

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::fixed::{type_flag, unicode};
pub(super) use heaplens_cpython::pools::LARGEST_SMALL;
use heaplens_cpython::{Layout, ReadMemory, Version, is_address};

pub use classes::ClassId;
use classes::{Class, Classes, Kind};
pub use frames::Running;
use parts::is_compact_ascii;
use reader::Reader;
use references::Label;
pub use roots::{NamedRoot, RootName};

/// More references to one object than any has. What lives for ever (3.12) has 2³² − 1.
const MOST_REFERENCES: u64 = 1 << 33;

/// Whether these may be the collector's links: to two neighbours, with flags in their low bits, or to none.
fn are_links(next: u64, before: u64) -> bool {
    const FLAGS: u64 = 7;
    match (next & !FLAGS, before & !FLAGS) {
        (0, 0) => true,
        (next, before) => is_address(next) && is_address(before),
    }
}

/// An interpreter in a process that stands still.
pub struct Python<'m, M> {
    reader: Reader<'m, M>,
    layout: Layout,
    runtime: u64,
    type_type: u64,
    classes: Classes,
}

/// An object in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it begins: what `id()` says.
    pub address: u64,
    /// Where its block begins: at the collector's links, if it has any.
    pub block: u64,
    /// Its type.
    pub class: ClassId,
    /// Whether the collector has it in its lists.
    pub is_tracked: bool,
    /// Words of the block, from its start, that point somewhere and hold nothing: bit n is word n. The collector's links, lists
    /// of weak references, and what a weak reference refers to.
    pub idle_words: u64,
}

/// How an object leads to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `.name`: of an object, a module or a class, wherever it keeps it.
    Attribute(String),
    /// `[key]`: texts in quotes, numbers, `True`, `None`; any other as `<type>`. Long texts are cut.
    Key(String),
    /// `[index]`: of a list, a tuple or a deque.
    Item(u64),
    /// It is itself a key of the dict.
    KeyObject,
    /// It is in the set.
    Element,
    /// A variable of a frame, generator or coroutine.
    Local(String),
    /// A variable of an outer function that this one uses: a cell.
    Closure(String),
    /// The default of a parameter.
    Default(String),
    /// What a cell holds.
    Contents,
}

/// Words from there on, as bits.
fn old_words(from: u64) -> u64 {
    u64::MAX.checked_shl(u32::try_from(from.div_ceil(8)).unwrap_or(u32::MAX)).unwrap_or(0)
}

impl<'m, M: ReadMemory> Python<'m, M> {
    /// The interpreter whose `_PyRuntime` lies at this address. `None` where the version is not known, or there is none.
    pub fn open(memory: &'m M, (major, minor): (u8, u8), runtime: u64) -> Option<Self> {
        let reader = Reader::new(memory);
        let layout = Layout::read(&reader, Version::new(major, minor), runtime).ok()?;
        let mut python = Self { reader, layout, runtime, type_type: 0, classes: Classes::default() };
        python.find_type_type()?;
        // What was judged while looking for `type` was judged without it.
        python.classes = Classes::default();
        Some(python)
    }

    /// Where its `_PyRuntime` lies.
    pub fn runtime(&self) -> u64 {
        self.runtime
    }

    /// Blocks in use in Python's arenas, given where those begin and end: their addresses and the sizes of their classes.
    pub fn small_blocks(&self, arenas: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut blocks = Vec::new();
        for &arena in arenas {
            pools::list(self.reader.memory(), self.layout.pools, arena, &mut blocks);
        }
        blocks
    }

    /// The object in a block, if there is one. `words` are the first words of the block: six are enough.
    ///
    /// Asked for every block of a heap. Measured in a process that had imported TensorFlow: see the tests.
    #[inline]
    pub fn object_in(&self, start: u64, size: u64, words: &[u64]) -> Option<Object> {
        [0, 2, 4].into_iter().find_map(|lead| self.object_behind(lead, start, size, words))
    }

    fn object_behind(&self, lead: usize, start: u64, size: u64, words: &[u64]) -> Option<Object> {
        let &[references, class, ..] = words.get(lead..)? else { return None };
        let count = self.layout.references(references)?;
        if count == 0 || count > MOST_REFERENCES || !is_address(class) {
            return None;
        }
        let class = self.class_at(class)?;
        let before = 8 * lead as u64;
        let fits = class.lead == before && before + class.least_size <= size;
        if !fits || self.is_pair(references) {
            return None;
        }
        // Memory that malloc hands out again may hold the words of an old object.
        if size > LARGEST_SMALL
            && class.has(type_flag::HAVE_GC)
            && !are_links(words[lead - 2], words[lead - 1])
        {
            return None;
        }
        let is_tracked = class.has(type_flag::HAVE_GC) && words[lead - 2] != 0;
        let behind = self.used(&class, &words[lead..]).map_or(0, |used| old_words(before + used));
        let (address, idle_words) = (start + before, class.idle_words | behind);
        Some(Object { address, block: start, class: class.id, is_tracked, idle_words })
    }

    /// How long an object of the interpreter's own is, as far as references can be in it, by its first words. Blocks come in steps of
    /// 16 bytes, and what lies behind is old. `None` where that is not known.
    fn used(&self, class: &Class, words: &[u64]) -> Option<u64> {
        if class.has(type_flag::HEAP_TYPE) {
            return None; // its instances may have more than their type says
        }
        match class.kind {
            Kind::List | Kind::Dict | Kind::Set | Kind::Cell | Kind::Function => {
                Some(class.type_object.basicsize)
            }
            // Behind it is the program itself, where what was found by a name is remembered and not held.
            Kind::Code => Some(class.type_object.basicsize),
            Kind::Tuple => Some(self.layout.tuple.items + 8 * words.get(SIZE as usize / 8)?),
            Kind::Integer => Some(SIZE),
            Kind::Text if is_compact_ascii(*words.get(unicode::STATE as usize / 8)?) => Some(unicode::STATE),
            Kind::Plain if class.has(type_flag::BYTES) => Some(SIZE),
            _ => None,
        }
    }

    /// Whether what should count references is an address of an object itself: then this is a row of pointers, one of them to a
    /// type. Programs that are not moved when they are loaded have their objects at such small addresses.
    fn is_pair(&self, references: u64) -> bool {
        is_address(references) && self.class_of(references).is_some()
    }

    /// How one object leads to another, by a pointer in itself or in memory that belongs to it.
    pub fn step(&self, from: u64, to: u64) -> Option<Step> {
        let mut found = None;
        let _ = self.each_reference(from, &mut |target, label| {
            if target != to {
                return ControlFlow::Continue(());
            }
            found = Some(label);
            ControlFlow::Break(())
        });
        self.say(found?)
    }

    fn say(&self, label: Label) -> Option<Step> {
        let name = |object: u64| self.text(object, text::LONGEST_NAME);
        Some(match label {
            Label::Item(index) => Step::Item(index),
            Label::Entry(key) => Step::Key(self.key(key)?),
            Label::Key => Step::KeyObject,
            Label::Element => Step::Element,
            Label::Attribute(attribute) => Step::Attribute(name(attribute)?),
            Label::Member(attribute) => Step::Attribute(self.reader.c_text(attribute, text::LONGEST_NAME)?),
            Label::Local(variable) => Step::Local(name(variable)?),
            Label::Closure(variable) => Step::Closure(name(variable)?),
            Label::Default(parameter) => Step::Default(name(parameter)?),
            Label::Contents => Step::Contents,
            Label::Named(attribute) => Step::Attribute(attribute.into()),
        })
    }
}
