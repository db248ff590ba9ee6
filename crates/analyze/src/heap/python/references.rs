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
use heaplens_format::Addr;

use super::class::{Class, ClassKind};
use super::interpreter::Python;
use super::numpy::ndarray;
use super::reader::after;

/// Items of a list beyond this many are not read, nor blocks of a deque.
const MOST_ITEMS: u64 = 1 << 26;
const MOST_MEMBERS: u64 = 512;

/// How a reference is written; names are addresses until somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Item(u64),
    /// The value under this key.
    Entry(Addr),
    /// A key of a dict.
    Key,
    /// An element of a set.
    Element,
    Attribute(Addr),
    /// An attribute whose name is a text of C.
    Member(Addr),
    Local(Addr),
    Closure(Addr),
    Default(Addr),
    Contents,
    Named(&'static str),
}

pub(super) type Flow = ControlFlow<()>;
const ON: Flow = ControlFlow::Continue(());

impl<M: ReadMemory> Python<'_, M> {
    /// All that an object holds, as far as it is known how.
    pub(super) fn each_reference(&self, object: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let Some(class) = self.class_of(object) else { return ON };
        self.by_kind(object, &class, visit)?;
        self.each_attribute(object, &class, visit)?;
        self.each_member(object, &class, visit)?;
        visit(class.address, Label::Named("__class__"))
    }

    fn by_kind(&self, object: Addr, class: &Class, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        match class.kind {
            ClassKind::List => self.each_list_item(object, visit),
            ClassKind::Tuple => self.each_tuple_item(object, visit),
            ClassKind::Dict | ClassKind::OrderedDict => self.each_dict_item(object, visit),
            ClassKind::Set => self.each_element(object, visit),
            ClassKind::Deque => self.each_deque_item(object, visit),
            ClassKind::Cell => self.at(object, cell::CONTENTS, Label::Contents, visit),
            ClassKind::Function => self.of_function(object, visit),
            ClassKind::BuiltinFunction => self.at(object, builtin::SELF, Label::Named("__self__"), visit),
            ClassKind::Generator => self.of_frame(self.frame_of_generator(object), visit),
            ClassKind::Frame => self.of_frame(self.frame_of_object(object), visit),
            ClassKind::Class => self.of_class(object, visit),
            ClassKind::Module => self.of_dict(self.reader.pointer_in(object, module::DICT), visit),
            ClassKind::Exception => self.of_exception(object, visit),
            ClassKind::Traceback => self.of_traceback(object, visit),
            ClassKind::Cache => self.of_cache(object, visit),
            ClassKind::CacheLink => self.of_cache_link(object, visit),
            ClassKind::NumpyArray => self.at(object, ndarray::BASE, Label::Named("base"), visit),
            _ => ON,
        }
    }

    /// The reference in one word of an object.
    fn at(
        &self,
        object: Addr,
        offset: u64,
        label: Label,
        visit: &mut dyn FnMut(Addr, Label) -> Flow,
    ) -> Flow {
        self.reader.pointer_in(object, offset).map_or(ON, |target| visit(target, label))
    }

    fn each_list_item(&self, list: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let items = self.reader.pointer_in(list, list::ITEMS);
        let (Some(items), Some(length)) = (items, self.reader.word_in(list, SIZE)) else { return ON };
        self.reader
            .each_row(items, length.min(MOST_ITEMS), |at, [item]| visit(Addr::new(item), Label::Item(at)))
    }

    fn each_tuple_item(&self, tuple: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let Some(length) = self.reader.word_in(tuple, SIZE) else { return ON };
        let items = after(tuple, self.layout.tuple.items);
        self.reader
            .each_row(items, length.min(MOST_ITEMS), |at, [item]| visit(Addr::new(item), Label::Item(at)))
    }

    fn each_dict_item(&self, dict: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        self.each_entry(dict, |key, value| {
            visit(value, Label::Entry(key))?;
            visit(key, Label::Key)
        })
    }

    fn each_element(&self, set: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let table = self.reader.pointer_in(set, set::TABLE);
        let mask = self.reader.word_in(set, set::MASK).filter(|&mask| mask < MOST_ITEMS);
        let (Some(table), Some(mask)) = (table, mask) else { return ON };
        self.reader.each_row(table, mask + 1, |_, [key, _hash]| match key {
            0 => ON,
            key => visit(Addr::new(key), Label::Element),
        })
    }

    fn each_deque_item(&self, deque: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let length = self.reader.word_in(deque, SIZE).unwrap_or(0).min(MOST_ITEMS);
        let Some(first) = self.reader.word_in(deque, deque::LEFTINDEX) else { return ON };
        let (mut skipped, mut number) = (first.min(deque_block::LENGTH), 0);
        for block in self.deque_blocks(deque) {
            let count = (deque_block::LENGTH - skipped).min(length - number);
            let start = after(block, deque_block::DATA + 8 * skipped);
            self.reader
                .each_row(start, count, |at, [item]| visit(Addr::new(item), Label::Item(number + at)))?;
            (skipped, number) = (0, number + count);
        }
        ON
    }

    /// The blocks that items of a deque lie in.
    pub(super) fn deque_blocks(&self, deque: Addr) -> impl Iterator<Item = Addr> {
        let length = self.reader.word_in(deque, SIZE).unwrap_or(0).min(MOST_ITEMS);
        let next = |block: &Addr| self.reader.pointer_in(*block, deque_block::RIGHTLINK);
        let first = self.reader.pointer_in(deque, deque::LEFTBLOCK);
        std::iter::successors(first, next).take(length as usize / deque_block::LENGTH as usize + 2)
    }

    fn of_function(&self, function: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let at = &self.layout.function;
        let code = self.reader.pointer_in(function, at.code).filter(|&code| self.is(code, ClassKind::Code));
        let names = code.map(|code| self.variable_names(code)).unwrap_or_default();
        if let Some(closure) = self.reader.pointer_in(function, at.closure) {
            self.each_named_item(closure, &names, Label::Closure, visit)?;
            visit(closure, Label::Named("__closure__"))?;
        }
        if let Some(defaults) = self.reader.pointer_in(function, at.defaults) {
            let arguments = code.and_then(|code| self.reader.half_in(code, self.layout.code.argcount));
            let arguments = names.get(..arguments.unwrap_or(0) as usize).unwrap_or_default();
            self.each_named_item(defaults, arguments, Label::Default, visit)?;
            visit(defaults, Label::Named("__defaults__"))?;
        }
        if let Some(defaults) = self.reader.pointer_in(function, at.kwdefaults) {
            self.each_entry(defaults, |key, value| visit(value, Label::Default(key)))?;
            visit(defaults, Label::Named("__kwdefaults__"))?;
        }
        code.map_or(ON, |code| visit(code, Label::Named("__code__")))?;
        self.at(function, at.globals, Label::Named("__globals__"), visit)
    }

    /// Items of a tuple that are named by the last of these names.
    fn each_named_item(
        &self,
        tuple: Addr,
        names: &[Addr],
        label: fn(Addr) -> Label,
        visit: &mut dyn FnMut(Addr, Label) -> Flow,
    ) -> Flow {
        let length = self.reader.word_in(tuple, SIZE).unwrap_or(0);
        let names = names.len().checked_sub(length as usize).and_then(|first| names.get(first..));
        self.each_item(tuple, |at, item| match names.and_then(|names| names.get(at as usize)) {
            Some(&name) => visit(item, label(name)),
            None => ON,
        })
    }

    fn of_frame(&self, frame: Option<Addr>, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let Some(frame) = frame else { return ON };
        self.each_variable(frame, |name, value| visit(value, Label::Local(name)))?;
        self.locals_of(frame).map_or(ON, |locals| visit(locals, Label::Named("f_locals")))?;
        let code = self.layout.code_of_frame(&self.reader, frame.get()).filter(|&code| is_address(code));
        let code = code.map(Addr::new);
        code.map_or(ON, |code| visit(code, Label::Named("f_code")))
    }

    fn of_class(&self, object: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        self.of_dict(self.reader.pointer_in(object, type_object::DICT), visit)?;
        self.at(object, type_object::BASES, Label::Named("__bases__"), visit)?;
        self.at(object, type_object::MRO, Label::Named("__mro__"), visit)?;
        self.at(object, type_object::SUBCLASSES, Label::Named("__subclasses__"), visit)
    }

    /// The attributes in a dict, then the dict itself.
    fn of_dict(&self, dict: Option<Addr>, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let Some(dict) = dict else { return ON };
        self.each_entry(dict, |name, value| visit(value, Label::Attribute(name)))?;
        visit(dict, Label::Named("__dict__"))
    }

    fn of_exception(&self, exception: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        let Exception { traceback, context, cause } = self.layout.exception;
        self.at(exception, exception::ARGS, Label::Named("args"), visit)?;
        self.at(exception, traceback, Label::Named("__traceback__"), visit)?;
        self.at(exception, cause, Label::Named("__cause__"), visit)?;
        self.at(exception, context, Label::Named("__context__"), visit)
    }

    fn of_traceback(&self, traceback: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        self.at(traceback, traceback::FRAME, Label::Named("tb_frame"), visit)?;
        self.at(traceback, traceback::NEXT, Label::Named("tb_next"), visit)
    }

    fn of_cache(&self, cache: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        self.at(cache, lru_cache::FUNC, Label::Named("__wrapped__"), visit)?;
        let Some(dict) = self.reader.pointer_in(cache, lru_cache::CACHE) else { return ON };
        visit(dict, Label::Named("cache"))?;
        self.each_dict_item(dict, visit)
    }

    fn of_cache_link(&self, link: Addr, visit: &mut dyn FnMut(Addr, Label) -> Flow) -> Flow {
        self.at(link, lru_cache::LINK_RESULT, Label::Named("result"), visit)?;
        self.at(link, lru_cache::LINK_KEY, Label::Named("key"), visit)
    }

    /// Attributes of an object that Python code gave it.
    pub(super) fn each_attribute(
        &self,
        object: Addr,
        class: &Class,
        visit: &mut dyn FnMut(Addr, Label) -> Flow,
    ) -> Flow {
        if let Some(values) = self.values_of(object, class)
            && let Some(keys) = self.reader.pointer_in(class.address, self.layout.heap_type.cached_keys)
        {
            self.each_shared(keys, values, |name, value| visit(value, Label::Attribute(name)))?;
        }
        self.of_dict(self.dict_of(object, class), visit)
    }

    /// The `__dict__` of an object, where it has one by itself.
    pub(super) fn dict_of(&self, object: Addr, class: &Class) -> Option<Addr> {
        let word = self.layout.dict_word(&self.reader, object.get(), &class.type_object)?;
        self.reader.pointer(word).map(Addr::new).filter(|&dict| self.is_dict(dict))
    }

    /// Where an object has attributes without a dict.
    pub(super) fn values_of(&self, object: Addr, class: &Class) -> Option<Addr> {
        let TypeObject { flags, basicsize, .. } = class.type_object;
        let values = self.layout.attributes.values_of(&self.reader, object.get(), flags, basicsize);
        values.map(Addr::new)
    }

    fn is_dict(&self, object: Addr) -> bool {
        self.class_of(object).is_some_and(|class| class.has(type_flag::DICT))
    }

    pub(super) fn is(&self, object: Addr, kind: ClassKind) -> bool {
        self.class_of(object).is_some_and(|class| class.kind == kind)
    }

    /// Members that types describe: `__slots__`, and many of types that C made.
    pub(super) fn each_member(
        &self,
        object: Addr,
        class: &Class,
        visit: &mut dyn FnMut(Addr, Label) -> Flow,
    ) -> Flow {
        for class in self.bases(class) {
            let Some(members) = self.reader.pointer_in(class.address, type_object::MEMBERS) else { continue };
            for at in (members.get()..).step_by(Member::LENGTH as usize).take(MOST_MEMBERS as usize) {
                match Member::read(&self.reader, at) {
                    Some(Member::Object { name, offset }) => {
                        let member = Addr::new(object.get().saturating_add(offset));
                        self.at(member, 0, Label::Member(Addr::new(name)), visit)?;
                    }
                    Some(Member::Other) => {}
                    None => break,
                }
            }
        }
        ON
    }
}
