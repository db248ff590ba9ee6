//! What is kept of types: what each says of its objects, and which addresses have been judged. Nothing is read here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use heaplens_cpython::fixed::type_flag;
use heaplens_cpython::type_objects::TypeObject;
use heaplens_format::{Addr, Bytes};

/// A type, by the order in which types were met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(u32);

impl ClassId {
    /// Of a type that is not in the table yet.
    pub(super) const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of objects beyond what all of them have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassKind {
    Plain,
    List,
    Tuple,
    Dict,
    OrderedDict,
    Set,
    Deque,
    Cell,
    Function,
    BuiltinFunction,
    Generator,
    Frame,
    Class,
    Module,
    WeakReference,
    Exception,
    Traceback,
    Lock,
    Cache,
    CacheLink,
    Code,
    NumpyArray,
    JaxArray,
    ByteArray,
    Array,
    Text,
    Integer,
    Float,
    Boolean,
    Nothing,
}

/// A type, as far as it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub id: ClassId,
    pub address: Addr,
    pub type_object: TypeObject,
    /// No object is smaller: a string has only a part of what its type says.
    pub least_size: Bytes,
    pub kind: ClassKind,
    /// Bytes of a block before the object.
    pub lead: Bytes,
    /// Words of a block that are non-owning pointers: a bit each.
    pub non_owning_words: u64,
}

impl Class {
    pub(super) fn has(&self, flag: u64) -> bool {
        self.type_object.has(flag)
    }
}

impl ClassKind {
    pub(super) fn of_flags(flags: u64) -> Self {
        let by_flag = [
            (type_flag::LIST, Self::List),
            (type_flag::TUPLE, Self::Tuple),
            (type_flag::DICT, Self::Dict),
            (type_flag::TYPE, Self::Class),
            (type_flag::STR, Self::Text),
            (type_flag::INT, Self::Integer),
            (type_flag::EXCEPTION, Self::Exception),
        ];
        by_flag.iter().find(|(flag, _)| flags & flag != 0).map_or(Self::Plain, |&(_, kind)| kind)
    }

    /// Of types that C made, as they call themselves.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "collections.OrderedDict" => Self::OrderedDict,
            "set" | "frozenset" => Self::Set,
            "collections.deque" => Self::Deque,
            "cell" => Self::Cell,
            "function" => Self::Function,
            "builtin_function_or_method" => Self::BuiltinFunction,
            "generator" | "coroutine" | "async_generator" => Self::Generator,
            "frame" => Self::Frame,
            "module" => Self::Module,
            "weakref" | "weakproxy" | "weakcallableproxy" => Self::WeakReference,
            "weakref.ReferenceType" | "weakref.ProxyType" | "weakref.CallableProxyType" => {
                Self::WeakReference
            }
            "traceback" => Self::Traceback,
            "_thread.lock" | "_thread.RLock" => Self::Lock,
            "functools._lru_cache_wrapper" => Self::Cache,
            "functools._lru_list_elem" => Self::CacheLink,
            "code" => Self::Code,
            "numpy.ndarray" => Self::NumpyArray,
            "jaxlib._jax.ArrayImpl" | "jaxlib.xla_extension.ArrayImpl" => Self::JaxArray,
            "bytearray" => Self::ByteArray,
            "array.array" => Self::Array,
            "float" => Self::Float,
            "bool" => Self::Boolean,
            "NoneType" => Self::Nothing,
            _ => return None,
        })
    }
}

/// The types that were met, and what was found at every address that was asked for one.
#[derive(Default)]
pub(super) struct ClassTable {
    verdicts: RefCell<HashMap<Addr, Option<ClassId>, BuildHasherDefault<AddressHasher>>>,
    known: RefCell<Vec<Class>>,
    names: RefCell<Vec<Option<Rc<str>>>>,
}

impl ClassTable {
    /// What was found at an address; `None` where it was not judged yet.
    #[inline]
    pub(super) fn verdict(&self, address: Addr) -> Option<Option<ClassId>> {
        self.verdicts.borrow().get(&address).copied()
    }

    #[inline]
    pub(super) fn get(&self, id: ClassId) -> Option<Class> {
        self.known.borrow().get(id.index()).copied()
    }

    /// Keeps what was found at an address: a type, or none.
    pub(super) fn insert(&self, address: Addr, class: Option<Class>) -> Option<ClassId> {
        let verdict = class.map(|class| {
            let mut known = self.known.borrow_mut();
            let id = ClassId(known.len() as u32);
            known.push(Class { id, ..class });
            self.names.borrow_mut().push(None);
            id
        });
        self.verdicts.borrow_mut().insert(address, verdict);
        verdict
    }

    pub(super) fn name(&self, id: ClassId) -> Option<Rc<str>> {
        self.names.borrow().get(id.index()).cloned().flatten()
    }

    pub(super) fn set_name(&self, id: ClassId, name: &Rc<str>) {
        if let Some(slot) = self.names.borrow_mut().get_mut(id.index()) {
            *slot = Some(Rc::clone(name));
        }
    }
}

/// Addresses are spread well by one multiplication; a million of them are looked up for one snapshot.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}
