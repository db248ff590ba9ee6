//! What an object holds, each with how it is written. A reference that lies in memory which belongs to the object counts as its
//! own: an item of a list, a value of a dict, an attribute.

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::fixed::{
    builtin, cell, deque, deque_block, exception, list, lru_cache, module, set, traceback, type_flag,
    type_object,
};
use heaplens_cpython::layout::Exception;
use heaplens_cpython::type_objects::{Member, TypeObject};
use heaplens_cpython::{ReadMemory, is_address};

use super::class::{Class, ClassKind};
use super::interpreter::Python;
use super::numpy::ndarray;

/// Items of a list beyond this many are not read, nor blocks of a deque.
const MOST_ITEMS: u64 = 1 << 26;
const MOST_MEMBERS: u64 = 512;

/// How a reference is written; names are addresses until somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Item(u64),
    /// The value under this key.
    Entry(u64),
    /// A key of a dict.
    Key,
    /// An element of a set.
    Element,
    Attribute(u64),
    /// An attribute whose name is a text of C.
    Member(u64),
    Local(u64),
    Closure(u64),
    Default(u64),
    Contents,
    Named(&'static str),
}

pub(super) type Flow = ControlFlow<()>;
const ON: Flow = ControlFlow::Continue(());

impl<M: ReadMemory> Python<'_, M> {
    /// All that an object holds, as far as it is known how.
    pub(super) fn each_reference(&self, object: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let Some(class) = self.class_of(object) else { return ON };
        self.by_kind(object, &class, visit)?;
        self.each_attribute(object, &class, visit)?;
        self.each_member(object, &class, visit)?;
        visit(class.address, Label::Named("__class__"))
    }

    fn by_kind(&self, object: u64, class: &Class, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        match class.kind {
            ClassKind::List => self.each_list_item(object, visit),
            ClassKind::Tuple => self.each_tuple_item(object, visit),
            ClassKind::Dict | ClassKind::OrderedDict => self.each_dict_item(object, visit),
            ClassKind::Set => self.each_element(object, visit),
            ClassKind::Deque => self.each_deque_item(object, visit),
            ClassKind::Cell => self.at(object + cell::CONTENTS, Label::Contents, visit),
            ClassKind::Function => self.of_function(object, visit),
            ClassKind::BuiltinFunction => self.at(object + builtin::SELF, Label::Named("__self__"), visit),
            ClassKind::Generator => {
                self.of_frame(self.layout.frame_of_generator(&self.reader, object), visit)
            }
            ClassKind::Frame => self.of_frame(self.layout.frame_of_object(&self.reader, object), visit),
            ClassKind::Class => self.of_class(object, visit),
            ClassKind::Module => self.of_dict(self.reader.pointer(object + module::DICT), visit),
            ClassKind::Exception => self.of_exception(object, visit),
            ClassKind::Traceback => self.of_traceback(object, visit),
            ClassKind::Cache => self.of_cache(object, visit),
            ClassKind::CacheLink => self.of_cache_link(object, visit),
            ClassKind::NumpyArray => self.at(object + ndarray::BASE, Label::Named("base"), visit),
            _ => ON,
        }
    }

    /// The reference in one word.
    fn at(&self, address: u64, label: Label, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.reader.pointer(address).map_or(ON, |target| visit(target, label))
    }

    fn each_list_item(&self, list: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let items = self.reader.pointer(list + list::ITEMS);
        let (Some(items), Some(length)) = (items, self.reader.word(list + SIZE)) else { return ON };
        self.reader.each_row(items, length.min(MOST_ITEMS), |at, [item]| visit(item, Label::Item(at)))
    }

    fn each_tuple_item(&self, tuple: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let Some(length) = self.reader.word(tuple + SIZE) else { return ON };
        let items = tuple + self.layout.tuple.items;
        self.reader.each_row(items, length.min(MOST_ITEMS), |at, [item]| visit(item, Label::Item(at)))
    }

    fn each_dict_item(&self, dict: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.each_entry(dict, |key, value| {
            visit(value, Label::Entry(key))?;
            visit(key, Label::Key)
        })
    }

    fn each_element(&self, set: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let table = self.reader.pointer(set + set::TABLE);
        let mask = self.reader.word(set + set::MASK).filter(|&mask| mask < MOST_ITEMS);
        let (Some(table), Some(mask)) = (table, mask) else { return ON };
        self.reader.each_row(table, mask + 1, |_, [key, _hash]| match key {
            0 => ON,
            key => visit(key, Label::Element),
        })
    }

    fn each_deque_item(&self, deque: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let length = self.reader.word(deque + SIZE).unwrap_or(0).min(MOST_ITEMS);
        let Some(first) = self.reader.word(deque + deque::LEFTINDEX) else { return ON };
        let (mut skipped, mut number) = (first.min(deque_block::LENGTH), 0);
        for block in self.deque_blocks(deque) {
            let count = (deque_block::LENGTH - skipped).min(length - number);
            let start = block + deque_block::DATA + 8 * skipped;
            self.reader.each_row(start, count, |at, [item]| visit(item, Label::Item(number + at)))?;
            (skipped, number) = (0, number + count);
        }
        ON
    }

    /// The blocks that items of a deque lie in.
    pub(super) fn deque_blocks(&self, deque: u64) -> impl Iterator<Item = u64> {
        let length = self.reader.word(deque + SIZE).unwrap_or(0).min(MOST_ITEMS);
        let next = |block: &u64| self.reader.pointer(block + deque_block::RIGHTLINK);
        let first = self.reader.pointer(deque + deque::LEFTBLOCK);
        std::iter::successors(first, next).take(length as usize / deque_block::LENGTH as usize + 2)
    }

    fn of_function(&self, function: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let at = &self.layout.function;
        let code = self.reader.pointer(function + at.code).filter(|&code| self.is(code, ClassKind::Code));
        let names = code.map(|code| self.variable_names(code)).unwrap_or_default();
        if let Some(closure) = self.reader.pointer(function + at.closure) {
            self.each_named_item(closure, &names, Label::Closure, visit)?;
            visit(closure, Label::Named("__closure__"))?;
        }
        if let Some(defaults) = self.reader.pointer(function + at.defaults) {
            let arguments = code.and_then(|code| self.reader.half(code + self.layout.code.argcount));
            let arguments = names.get(..arguments.unwrap_or(0) as usize).unwrap_or_default();
            self.each_named_item(defaults, arguments, Label::Default, visit)?;
            visit(defaults, Label::Named("__defaults__"))?;
        }
        if let Some(defaults) = self.reader.pointer(function + at.kwdefaults) {
            self.each_entry(defaults, |key, value| visit(value, Label::Default(key)))?;
            visit(defaults, Label::Named("__kwdefaults__"))?;
        }
        code.map_or(ON, |code| visit(code, Label::Named("__code__")))?;
        self.at(function + at.globals, Label::Named("__globals__"), visit)
    }

    /// Items of a tuple that are named by the last of these names.
    fn each_named_item(
        &self,
        tuple: u64,
        names: &[u64],
        label: fn(u64) -> Label,
        visit: &mut dyn FnMut(u64, Label) -> Flow,
    ) -> Flow {
        let length = self.reader.word(tuple + SIZE).unwrap_or(0);
        let names = names.len().checked_sub(length as usize).and_then(|first| names.get(first..));
        self.each_item(tuple, |at, item| match names.and_then(|names| names.get(at as usize)) {
            Some(&name) => visit(item, label(name)),
            None => ON,
        })
    }

    fn of_frame(&self, frame: Option<u64>, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let Some(frame) = frame else { return ON };
        self.each_variable(frame, |name, value| visit(value, Label::Local(name)))?;
        self.locals_of(frame).map_or(ON, |locals| visit(locals, Label::Named("f_locals")))?;
        let code = self.layout.code_of_frame(&self.reader, frame).filter(|&code| is_address(code));
        code.map_or(ON, |code| visit(code, Label::Named("f_code")))
    }

    fn of_class(&self, object: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.of_dict(self.reader.pointer(object + type_object::DICT), visit)?;
        self.at(object + type_object::BASES, Label::Named("__bases__"), visit)?;
        self.at(object + type_object::MRO, Label::Named("__mro__"), visit)?;
        self.at(object + type_object::SUBCLASSES, Label::Named("__subclasses__"), visit)
    }

    /// The attributes in a dict, then the dict itself.
    fn of_dict(&self, dict: Option<u64>, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let Some(dict) = dict else { return ON };
        self.each_entry(dict, |name, value| visit(value, Label::Attribute(name)))?;
        visit(dict, Label::Named("__dict__"))
    }

    fn of_exception(&self, exception: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        let Exception { traceback, context, cause } = self.layout.exception;
        self.at(exception + exception::ARGS, Label::Named("args"), visit)?;
        self.at(exception + traceback, Label::Named("__traceback__"), visit)?;
        self.at(exception + cause, Label::Named("__cause__"), visit)?;
        self.at(exception + context, Label::Named("__context__"), visit)
    }

    fn of_traceback(&self, traceback: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.at(traceback + traceback::FRAME, Label::Named("tb_frame"), visit)?;
        self.at(traceback + traceback::NEXT, Label::Named("tb_next"), visit)
    }

    fn of_cache(&self, cache: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.at(cache + lru_cache::FUNC, Label::Named("__wrapped__"), visit)?;
        let Some(dict) = self.reader.pointer(cache + lru_cache::CACHE) else { return ON };
        visit(dict, Label::Named("cache"))?;
        self.each_dict_item(dict, visit)
    }

    fn of_cache_link(&self, link: u64, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        self.at(link + lru_cache::LINK_RESULT, Label::Named("result"), visit)?;
        self.at(link + lru_cache::LINK_KEY, Label::Named("key"), visit)
    }

    /// Attributes of an object that Python code gave it.
    fn each_attribute(&self, object: u64, class: &Class, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        if let Some(values) = self.values_of(object, class)
            && let Some(keys) = self.reader.pointer(class.address + self.layout.heap_type.cached_keys)
        {
            self.each_shared(keys, values, |name, value| visit(value, Label::Attribute(name)))?;
        }
        self.of_dict(self.dict_of(object, class), visit)
    }

    /// The `__dict__` of an object, where it has one by itself.
    pub(super) fn dict_of(&self, object: u64, class: &Class) -> Option<u64> {
        let word = self.layout.dict_word(&self.reader, object, &class.type_object)?;
        self.reader.pointer(word).filter(|&dict| self.is_dict(dict))
    }

    /// Where an object has attributes without a dict.
    pub(super) fn values_of(&self, object: u64, class: &Class) -> Option<u64> {
        let TypeObject { flags, basicsize, .. } = class.type_object;
        self.layout.attributes.values_of(&self.reader, object, flags, basicsize)
    }

    fn is_dict(&self, object: u64) -> bool {
        self.class_of(object).is_some_and(|class| class.has(type_flag::DICT))
    }

    pub(super) fn is(&self, object: u64, kind: ClassKind) -> bool {
        self.class_of(object).is_some_and(|class| class.kind == kind)
    }

    /// Members that types describe: `__slots__`, and many of types that C made.
    fn each_member(&self, object: u64, class: &Class, visit: &mut dyn FnMut(u64, Label) -> Flow) -> Flow {
        for class in self.bases(class) {
            let Some(members) = self.reader.pointer(class.address + type_object::MEMBERS) else { continue };
            for at in (members..).step_by(Member::LENGTH as usize).take(MOST_MEMBERS as usize) {
                match Member::read(&self.reader, at) {
                    Some(Member::Object { name, offset }) => {
                        self.at(object.saturating_add(offset), Label::Member(name), visit)?;
                    }
                    Some(Member::Other) => {}
                    None => break,
                }
            }
        }
        ON
    }
}
