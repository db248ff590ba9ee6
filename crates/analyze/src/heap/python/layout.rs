//! Where CPython 3.8 to 3.13 keeps what is read here: offsets on x86-64, without debugging and with the global lock.
//!
//! Measured with `offsetof` against the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0. What differs between
//! versions is in [`Layout`]; what is the same in all of them stands as a constant. From 3.13 on an interpreter describes a
//! part of itself (`_Py_DebugOffsets`), and its word counts more than the table. Structures that no header has (deque, OrderedDict,
//! lru_cache, the keys of dicts before 3.11) were read from the sources; tests compare them with what the interpreters say.

use super::reader::Reader;
use crate::heap::ReadMemory;

/// In every object: its type.
pub(super) const TYPE: u64 = 8;
/// In every object of variable length: how many items it has.
pub(super) const SIZE: u64 = 16;

/// In a type.
pub(super) mod class {
    pub const NAME: u64 = 24;
    pub const BASIC_SIZE: u64 = 32;
    pub const ITEM_SIZE: u64 = 40;
    pub const FLAGS: u64 = 168;
    pub const DOCUMENTATION: u64 = 176;
    pub const WEAK_OFFSET: u64 = 208;
    pub const MEMBERS: u64 = 240;
    pub const BASE: u64 = 256;
    pub const DICT: u64 = 264;
    pub const DICT_OFFSET: u64 = 288;
    pub const BASES: u64 = 336;
    pub const MRO: u64 = 344;
    pub const SUBCLASSES: u64 = 360;
    /// As much of a type as is looked at.
    pub const LENGTH: usize = 296;
}

/// Bits of a type's flags.
pub(super) mod flag {
    /// Attributes lie behind the object (3.13).
    pub const INLINE_VALUES: u64 = 1 << 2;
    /// A word before the object is the list of its weak references (3.12).
    pub const MANAGED_WEAKREF: u64 = 1 << 3;
    /// A word or two before the object lead to its attributes (3.11).
    pub const MANAGED_DICT: u64 = 1 << 4;
    pub const HEAP_TYPE: u64 = 1 << 9;
    pub const HAVE_GC: u64 = 1 << 14;
    pub const INT: u64 = 1 << 24;
    pub const LIST: u64 = 1 << 25;
    pub const TUPLE: u64 = 1 << 26;
    pub const BYTES: u64 = 1 << 27;
    pub const STR: u64 = 1 << 28;
    pub const DICT: u64 = 1 << 29;
    pub const EXCEPTION: u64 = 1 << 30;
    pub const TYPE: u64 = 1 << 31;
}

/// Words before an object, counted from it: the collector's links, then these.
pub(super) const MANAGED_DICT: u64 = 24;
pub(super) const MANAGED_VALUES_3_11: u64 = 32;
/// Values behind an object, counted from it (3.13).
pub(super) const INLINE_VALUES: u64 = 16;

/// In containers.
pub(super) const LIST_ITEMS: u64 = 24;
pub(super) const LIST_ROOM: u64 = 32;
pub(super) const TUPLE_ITEMS: u64 = 24;
pub(super) const DICT_USED: u64 = 16;
pub(super) const DICT_KEYS: u64 = 32;
pub(super) const DICT_VALUES: u64 = 40;
pub(super) const SET_USED: u64 = 24;
pub(super) const SET_MASK: u64 = 32;
pub(super) const SET_TABLE: u64 = 40;
pub(super) const SET_SMALL_TABLE: u64 = 64;
pub(super) const DEQUE_FIRST: u64 = 24;
pub(super) const DEQUE_FIRST_INDEX: u64 = 40;
pub(super) const DEQUE_LAST_INDEX: u64 = 48;
pub(super) const DEQUE_BLOCK_ITEMS: u64 = 8;
pub(super) const DEQUE_BLOCK_LENGTH: u64 = 64;
pub(super) const DEQUE_BLOCK_NEXT: u64 = 520;
pub(super) const ORDERED_DICT_FAST_NODES: u64 = 64;
pub(super) const ORDERED_DICT_FIRST: u64 = 48;
pub(super) const ORDERED_DICT_NODE_NEXT: u64 = 16;
/// `co_zombieframe` and `co_opcache` of 3.8 to 3.10.
pub(super) const CODE_SPARE_WORDS: [u64; 2] = [128, 160];
pub(super) const BYTE_ARRAY_BYTES: u64 = 32;
pub(super) const ARRAY_ITEMS: u64 = 24;

/// In a NumPy array (`PyArrayObject_fields`, the same in 1.x and 2.x).
pub(super) mod ndarray {
    pub const DATA: u64 = 16;
    pub const AXES: u64 = 24;
    pub const DIMENSIONS: u64 = 32;
    pub const BASE: u64 = 48;
    pub const FLAGS: u64 = 64;
    pub const OWNS_DATA: u32 = 4;
}

/// In the wrapper that `functools.lru_cache` makes, and in a link of its list.
pub(super) const CACHE_DICT: u64 = 72;
pub(super) const CACHE_FUNCTION: u64 = 88;
pub(super) const CACHE_LINK_KEY: u64 = 40;
pub(super) const CACHE_LINK_RESULT: u64 = 48;

/// In other objects.
pub(super) const CELL_CONTENTS: u64 = 16;
pub(super) const MODULE_DICT: u64 = 16;
pub(super) const MODULE_STATE: u64 = 32;
pub(super) const BUILTIN_SELF: u64 = 24;
pub(super) const EXCEPTION_ARGUMENTS: u64 = 24;
pub(super) const TRACEBACK_NEXT: u64 = 16;
pub(super) const TRACEBACK_FRAME: u64 = 24;
pub(super) const STR_LENGTH: u64 = 16;
pub(super) const STR_STATE: u64 = 32;
pub(super) const INT_DIGITS: u64 = 24;
/// Words of a weak reference that hold nothing: what it refers to, and its neighbours in the list of that object.
pub(super) const WEAK_WORDS: [u64; 3] = [16, 40, 48];

/// In a description of a member (`PyMemberDef`).
pub(super) mod member {
    pub const LENGTH: u64 = 40;
    pub const TYPE: usize = 8;
    pub const OFFSET: usize = 16;
    /// Types of members that are objects: `T_OBJECT` and `T_OBJECT_EX`.
    pub const OBJECTS: [u32; 2] = [6, 16];
}

/// In a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub code: u64,
    pub globals: u64,
    pub defaults: u64,
    pub keyword_defaults: u64,
    pub closure: u64,
}

/// In a frame: before 3.11 an object, later a record in the thread's own stack or in a generator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub code: u64,
    pub previous: u64,
    pub globals: u64,
    pub locals: u64,
    pub variables: u64,
    /// A word that leads to the values which instructions work on. `None` where they lie behind the variables.
    pub stack: Option<u64>,
    /// The byte that says who owns it, and the first owner that runs no code.
    pub owner: Option<(u64, u8)>,
    /// In a frame object: the record. `None` where it is the record.
    pub of_object: Option<u64>,
    /// In a generator.
    pub of_generator: OfGenerator,
}

/// Where a generator has its frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum OfGenerator {
    /// A word leads to the frame object.
    Object(u64),
    /// It lies in the generator; a byte is positive where it is over.
    Inside { frame: u64, state: u64 },
}

/// In a code object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub file: u64,
    /// Its qualified name, or else its plain one.
    pub title: u64,
    pub first_line: u64,
    pub arguments: u64,
    pub stack_size: u64,
    /// Tuples of names: one after the other they name the variables of a frame.
    pub names: &'static [u64],
}

/// How the keys of a dict are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// Length of the table @8, entries in use @32, indices @40; entries of three words.
    Wide,
    /// Logarithms of both lengths @8 and @9, kind @10, entries in use @24, indices @32; entries of two words where all keys are
    /// strings.
    Compact,
}

/// Where an object of the interpreter's choice has its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Managed {
    /// Nowhere: `tp_dictoffset` tells.
    None,
    /// Values and dict in two words before it.
    TwoWords,
    /// One or the other in one word; values have the lowest bit set.
    OneWord,
    /// A dict in a word before it, values behind it.
    Inline,
}

/// Offsets of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// In the runtime: the newest interpreter.
    pub interpreters: u64,
    /// In an interpreter.
    pub next_interpreter: u64,
    pub threads: u64,
    pub modules: u64,
    pub codecs: [u64; 2],
    /// In a thread's state.
    pub next_thread: u64,
    pub thread: u64,
    pub native_thread: Option<u64>,
    /// Offsets on the way from a thread's state to its innermost frame.
    pub frame_way: &'static [u64],
    pub frame: Frame,
    pub code: Code,
    pub function: Function,
    pub keys: Keys,
    pub managed: Managed,
    /// In the values of a split dict: the first.
    pub first_value: u64,
    /// In a type of the heap.
    pub qualified_name: u64,
    pub cached_keys: u64,
    /// In a string: the first character, if all are ASCII, and of any other; the copy in UTF-8.
    pub text_ascii: u64,
    pub text_wide: u64,
    pub text_copy: u64,
    /// Whether the sign of an integer is in the lowest bits of its tag.
    pub tagged_integers: bool,
    /// In an exception: traceback, context and cause.
    pub exception: [u64; 3],
    /// Bytes of a pool of small blocks.
    pub pool: u64,
}

const FUNCTION_3_8: Function =
    Function { code: 16, globals: 24, defaults: 32, keyword_defaults: 40, closure: 48 };
const FUNCTION_3_10: Function =
    Function { code: 48, globals: 16, defaults: 56, keyword_defaults: 64, closure: 72 };

const PYTHON_3_8: Layout = Layout {
    interpreters: 32,
    next_interpreter: 0,
    threads: 8,
    modules: 56,
    codecs: [120, 128],
    next_thread: 8,
    thread: 176,
    native_thread: None,
    frame_way: &[24],
    frame: Frame {
        code: 32,
        previous: 24,
        globals: 48,
        locals: 56,
        variables: 360,
        stack: Some(64),
        owner: None,
        of_object: None,
        of_generator: OfGenerator::Object(16),
    },
    code: Code { file: 104, title: 112, first_line: 40, arguments: 16, stack_size: 32, names: &[72, 88, 80] },
    function: FUNCTION_3_8,
    keys: Keys::Wide,
    managed: Managed::None,
    first_value: 0,
    qualified_name: 864,
    cached_keys: 872,
    text_ascii: 48,
    text_wide: 72,
    text_copy: 56,
    tagged_integers: false,
    exception: [32, 40, 48],
    pool: 4 << 10,
};

const PYTHON_3_9: Layout =
    Layout { modules: 856, codecs: [912, 920], qualified_name: 856, cached_keys: 864, ..PYTHON_3_8 };

const PYTHON_3_10: Layout = Layout {
    frame: Frame { variables: 352, ..PYTHON_3_8.frame },
    function: FUNCTION_3_10,
    qualified_name: 864,
    cached_keys: 872,
    pool: 16 << 10,
    ..PYTHON_3_9
};

const PYTHON_3_11: Layout = Layout {
    interpreters: 40,
    threads: 16,
    modules: 888,
    codecs: [936, 944],
    thread: 152,
    native_thread: Some(160),
    frame_way: &[56, 8],
    frame: Frame {
        code: 32,
        previous: 48,
        globals: 8,
        locals: 24,
        variables: 72,
        stack: None,
        owner: Some((69, 3)),
        of_object: Some(24),
        of_generator: OfGenerator::Inside { frame: 80, state: 75 },
    },
    code: Code { file: 112, title: 128, first_line: 72, arguments: 56, stack_size: 68, names: &[96] },
    keys: Keys::Compact,
    managed: Managed::TwoWords,
    exception: [40, 48, 56],
    ..PYTHON_3_10
};

const PYTHON_3_12: Layout = Layout {
    threads: 72,
    modules: 944,
    codecs: [1248, 1256],
    thread: 136,
    native_thread: Some(144),
    frame_way: &[56, 0],
    frame: Frame {
        code: 0,
        previous: 8,
        globals: 24,
        locals: 40,
        variables: 72,
        stack: None,
        owner: Some((70, 3)),
        of_object: Some(24),
        of_generator: OfGenerator::Inside { frame: 72, state: 67 },
    },
    code: Code { first_line: 68, arguments: 52, stack_size: 64, ..PYTHON_3_11.code },
    managed: Managed::OneWord,
    qualified_name: 872,
    cached_keys: 880,
    text_ascii: 40,
    text_wide: 56,
    text_copy: 48,
    tagged_integers: true,
    ..PYTHON_3_11
};

const PYTHON_3_13: Layout = Layout {
    interpreters: 632,
    next_interpreter: 7264,
    threads: 7344,
    modules: 7656,
    codecs: [7960, 7968],
    thread: 152,
    native_thread: Some(160),
    frame_way: &[72],
    managed: Managed::Inline,
    first_value: 8,
    ..PYTHON_3_12
};

impl Layout {
    /// Of the interpreter whose runtime lies at this address.
    pub(super) fn of<M: ReadMemory>(reader: &Reader<M>, version: (u8, u8), runtime: u64) -> Option<Self> {
        match version {
            (3, 8) => Some(PYTHON_3_8),
            (3, 9) => Some(PYTHON_3_9),
            (3, 10) => Some(PYTHON_3_10),
            (3, 11) => Some(PYTHON_3_11),
            (3, 12) => Some(PYTHON_3_12),
            (3, 13) => Self::told(reader, runtime),
            _ => None,
        }
    }

    /// What an interpreter tells of itself, as words behind a cookie and its version.
    fn told<M: ReadMemory>(reader: &Reader<M>, runtime: u64) -> Option<Self> {
        const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
        const FREE_THREADED: u64 = 2;
        let word = |index: u64| reader.word(runtime.checked_add(8 * index)?);
        if word(0)? != COOKIE || word(1)? >> 16 != 0x030d || word(FREE_THREADED)? != 0 {
            return None;
        }
        let offset = |index: u64| word(index).filter(|&offset| offset < 1 << 20 && offset % 8 == 0);
        Some(Self {
            interpreters: offset(5)?,
            next_interpreter: offset(8)?,
            threads: offset(9)?,
            modules: offset(11)?,
            next_thread: offset(21)?,
            thread: offset(24)?,
            native_thread: Some(offset(25)?),
            ..PYTHON_3_13
        })
    }
}
