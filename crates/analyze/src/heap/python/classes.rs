//! Types: whether a word leads to one, what its objects look like, and what it is called. Every address is judged once.

use std::ops::ControlFlow;
use std::rc::Rc;

use heaplens_cpython::fixed::gc::LINKS;
use heaplens_cpython::fixed::object::TYPE;
use heaplens_cpython::fixed::{type_flag, type_object, weakref};
use heaplens_cpython::type_objects::TypeObject;
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::{Addr, Bytes};

use super::class::{Class, ClassId, ClassKind};
use super::interpreter::Python;
use super::objects::PythonObject;

/// Metaclasses of metaclasses, and bases of bases, are followed so far.
const MOST_METACLASSES: u32 = 4;
const MOST_BASES: usize = 64;
const LONGEST_NAME: usize = 200;
/// Words of a weak reference that are non-owning pointers: what it refers to, and its neighbours in the list of that object.
const WEAK_WORDS: [u64; 3] = [weakref::OBJECT, weakref::PREVIOUS, weakref::NEXT];

impl<M: ReadMemory> Python<'_, M> {
    /// The type at an address, if one is there.
    #[inline]
    pub(super) fn class_at(&self, address: Addr) -> Option<Class> {
        let id = self.classes.verdict(address).unwrap_or_else(|| self.judge(address, 0))?;
        self.classes.get(id)
    }

    /// The type of the object at an address, if one is there.
    pub(super) fn class_of(&self, object: Addr) -> Option<Class> {
        if !is_address(object.get()) {
            return None;
        }
        self.class_at(self.reader.pointer_in(object, TYPE)?)
    }

    fn judge(&self, address: Addr, depth: u32) -> Option<ClassId> {
        let class = if is_address(address.get()) { self.read_class(address, depth) } else { None };
        self.classes.insert(address, class)
    }

    /// A type is an object whose type is `type`, or a type whose objects are types.
    fn read_class(&self, address: Addr, depth: u32) -> Option<Class> {
        let meta = self.reader.pointer_in(address, TYPE)?;
        if meta != self.type_type && !self.makes_types(meta, depth) {
            return None;
        }
        let type_object = TypeObject::read(&self.reader, address.get())?;
        let TypeObject { flags, basicsize, .. } = type_object;
        let class = Class {
            id: ClassId::NONE,
            address,
            type_object,
            least_size: Bytes::new(if flags & type_flag::STR != 0 {
                self.layout.unicode.ascii
            } else {
                basicsize
            }),
            kind: ClassKind::Plain,
            lead: Bytes::new(self.layout.lead(flags)),
            non_owning_words: 0,
        };
        let kind = self.kind(&class)?;
        let non_owning_words = self.non_owning_words(&Class { kind, ..class });
        Some(Class { kind, non_owning_words, ..class })
    }

    fn makes_types(&self, meta: Addr, depth: u32) -> bool {
        if depth >= MOST_METACLASSES {
            return false;
        }
        let id = self.classes.verdict(meta).unwrap_or_else(|| self.judge(meta, depth + 1));
        id.is_some_and(|id| self.known(id).is_some_and(|class| class.has(type_flag::TYPE)))
    }

    pub(super) fn known(&self, id: ClassId) -> Option<Class> {
        self.classes.get(id)
    }

    /// Whether the instances of a type are types.
    pub fn makes_classes(&self, id: ClassId) -> bool {
        self.known(id).is_some_and(|class| class.kind == ClassKind::Class)
    }

    /// The code that frees objects of a type.
    pub fn deallocator(&self, id: ClassId) -> Option<Addr> {
        self.reader.pointer_in(self.known(id)?.address, type_object::DEALLOC)
    }

    /// The collector's links, and lists of weak references.
    fn non_owning_words(&self, class: &Class) -> u64 {
        let weak_offset = class.type_object.weaklistoffset;
        let (mut non_owning, lead) = (0u64, class.lead.get());
        // The last one would stand for all words after it.
        let mut set =
            |byte: u64| non_owning |= 1u64.checked_shl((byte / 8) as u32).unwrap_or(0) & (u64::MAX >> 1);
        if class.has(type_flag::HAVE_GC) {
            set(lead - LINKS);
            set(lead - LINKS + 8);
        }
        if self.layout.has_weak_references_first(class.type_object.flags) {
            set(0);
        } else if (1..512).contains(&weak_offset) {
            set(lead + weak_offset);
        }
        self.cached_frame_words(class).iter().for_each(|&word| set(lead + word));
        // A class knows those that are made from it by weak references.
        if class.kind == ClassKind::Class {
            set(lead + type_object::SUBCLASSES);
        }
        if class.kind == ClassKind::WeakReference {
            WEAK_WORDS.iter().for_each(|&word| set(lead + word));
        }
        non_owning
    }

    /// Before 3.11 code keeps the frame that it ran in last, for the next time: variables of back then are in it.
    fn cached_frame_words(&self, class: &Class) -> &'static [u64] {
        if class.kind == ClassKind::Code { self.layout.code.spare } else { &[] }
    }

    /// What an object keeps for later use, though it holds nothing: a reference path must not lead through it, but it is not lost.
    pub fn spare(&self, object: PythonObject) -> impl Iterator<Item = Addr> + '_ {
        let words = self.known(object.class).map_or(&[][..], |class| self.cached_frame_words(&class));
        words.iter().filter_map(move |word| self.reader.pointer_in(object.address, *word))
    }

    /// By its flags, or by the first of its bases that is known by name.
    fn kind(&self, class: &Class) -> Option<ClassKind> {
        let TypeObject { mut name, mut flags, mut base, .. } = class.type_object;
        for _ in 0..MOST_BASES {
            let text = self.reader.c_text(Addr::new(name), LONGEST_NAME)?;
            // A type that Python code made has a plain name: a dot, or not being of the heap, marks one that C made.
            let is_made_by_c = flags & type_flag::HEAP_TYPE == 0 || text.contains('.');
            if let Some(kind) = is_made_by_c.then(|| ClassKind::of_name(&text)).flatten() {
                return Some(kind);
            }
            if !is_address(base) {
                break;
            }
            let word = |offset: u64| self.reader.word_in(Addr::new(base), offset);
            (name, flags, base) =
                (word(type_object::NAME)?, word(type_object::FLAGS)?, word(type_object::BASE)?);
        }
        Some(ClassKind::of_flags(class.type_object.flags))
    }

    /// What a type is called: those of `builtins` by their bare names, others with their module.
    pub fn class_name(&self, id: ClassId) -> Rc<str> {
        self.classes.name(id).unwrap_or_else(|| {
            let name: Rc<str> =
                self.known(id).and_then(|class| self.spell(&class)).unwrap_or_default().into();
            self.classes.set_name(id, &name);
            name
        })
    }

    fn spell(&self, class: &Class) -> Option<String> {
        let plain = || self.reader.c_text(Addr::new(class.type_object.name), LONGEST_NAME);
        if !class.has(type_flag::HEAP_TYPE) {
            return plain();
        }
        let name = self.reader.pointer_in(class.address, self.layout.heap_type.qualname);
        let name = name.and_then(|name| self.text(name, LONGEST_NAME)).or_else(plain)?;
        let dict = self.reader.pointer_in(class.address, type_object::DICT);
        let module = dict.and_then(|dict| self.value_of(dict, "__module__"));
        match module.and_then(|module| self.text(module, LONGEST_NAME)) {
            Some(module) if module != "builtins" => Some(format!("{module}.{name}")),
            _ => Some(name),
        }
    }

    /// What the class of an object is called, and those that it inherits from.
    pub fn class_and_bases(&self, object: Addr) -> Option<(Rc<str>, Vec<Rc<str>>)> {
        let id = self.class_of(object)?.id;
        Some((self.class_name(id), self.base_names(id)))
    }

    /// What a type inherits from, by its method resolution order; `object` is left out, and those beyond a limit are.
    fn base_names(&self, id: ClassId) -> Vec<Rc<str>> {
        let mut bases = Vec::new();
        let order = self.known(id).and_then(|class| self.reader.pointer_in(class.address, type_object::MRO));
        let _ = order.map(|order| {
            self.each_item(order, |_, base| {
                bases.extend(self.class_at(base).map(|base| base.id));
                if bases.len() > MOST_BASES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        });
        let names = bases.into_iter().filter(|&base| base != id).map(|base| self.class_name(base));
        names.filter(|name| !name.is_empty() && &**name != "object").collect()
    }

    /// Types from this one to `object`.
    pub(super) fn bases(&self, class: &Class) -> impl Iterator<Item = Class> {
        let next = |class: &Class| {
            self.class_at(Addr::new(class.type_object.base)).filter(|base| base.address != class.address)
        };
        std::iter::successors(Some(*class), next).take(MOST_BASES)
    }
}
