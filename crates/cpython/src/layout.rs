//! Where one version of CPython keeps what is read of it: a table for each version (`generated`), filled in by what an
//! interpreter says of itself where it does ([`Layout::read`]). Offsets are in bytes, of builds for x86-64 with the global lock
//! and without debugging. Names are CPython's own, without their prefixes.

use crate::lines::LineTable;

/// Offsets of one version. What a walk over frames needs comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In a thread state.
    pub thread: Thread,
    /// In a frame.
    pub frame: Frame,
    /// In a code object.
    pub code: Code,
    /// In a string.
    pub unicode: Unicode,
    /// In a tuple.
    pub tuple: Tuple,
    /// In the iterator of a range.
    pub range_iterator: RangeIterator,
    /// Whether iterators of ranges, lists and tuples go to free lists, so that nobody notices when their loop is over.
    pub iterators_have_free_lists: bool,
    /// In any object.
    pub object: Object,
    /// In a function.
    pub function: Function,
    /// Where a generator, coroutine or asynchronous generator has its frame.
    pub generator: Generator,
    /// In an exception.
    pub exception: Exception,
    /// How the number of digits and the sign of an `int` are written.
    pub integer: Integer,
    /// In the keys of a dict.
    pub keys: Keys,
    /// Where instances of classes have their attributes.
    pub attributes: Attributes,
    /// In a type that is on the heap.
    pub heap_type: HeapType,
    /// In the state of the whole runtime.
    pub runtime: Runtime,
    /// In an interpreter's state.
    pub interpreter: Interpreter,
    /// Sizes of what small blocks lie in.
    pub pools: Pools,
}

/// In a thread state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The innermost frame, or the record that leads to it.
    pub frame: u64,
    /// In that record: the innermost frame.
    pub frame_of_record: Option<u64>,
    /// The records that lie in the C frames which execute Python.
    pub record: Option<Record>,
    /// The next thread's state.
    pub next: u64,
    /// Its `pthread_t`.
    pub thread_id: u64,
    /// The kernel's number of it.
    pub native_thread_id: Option<u64>,
}

/// `_PyCFrame`: a record in the C frame that executes Python frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// In a thread state: the innermost.
    pub innermost: u64,
    /// In a record: the next outer one.
    pub previous: u64,
}

/// In a frame: before 3.11 an object, later a record in the thread's own stack or in a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its code.
    pub code: u64,
    /// Its caller.
    pub previous: u64,
    /// The instruction that it is at.
    pub instruction: u64,
    /// What that is.
    pub position: Position,
    /// How the runs of frames that one C frame executes are distinguished.
    pub runs: Runs,
    /// The byte that says who owns it: from [`crate::fixed::frame::OWNED_BY_C`] on it runs no code, and lies in a C frame.
    pub owner: Option<u64>,
    /// The byte that says that it is the outermost of its run.
    pub is_entry: Option<u64>,
    /// The word that leads to the stack which instructions work on; `None` where that lies after the variables.
    pub stack: Option<u64>,
    /// The dict of its global variables.
    pub globals: u64,
    /// The dict of its variables, where they are one.
    pub locals: u64,
    /// Its variables.
    pub variables: u64,
    /// Bits of a variable, a value on the stack or the code that are no part of the address.
    pub tag_mask: u64,
    /// In a frame object: the record. `None` where it is the record.
    pub of_object: Option<u64>,
}

/// How the runs of frames that one C frame executes are distinguished, and where on the stack that C frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// One C frame executes one Python frame; it is known by its code. (3.8, 3.9)
    Single,
    /// As before, and a record in the C frame is linked from the thread state. (3.10)
    SingleRecorded,
    /// The outermost frame of a run says so; records as before. (3.11)
    EntryFlag,
    /// A frame that lies in the C frame itself ends the run. (3.12 and later)
    EntryFrame,
}

/// How a frame says where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// By the index of its last instruction, this many of which are a unit of two bytes.
    Index(i32),
    /// By the address of an instruction; the code's instructions begin at this offset of the code object.
    Address(u64),
}

/// In a code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The file's name.
    pub filename: u64,
    /// Its plain name.
    pub name: u64,
    /// Its qualified name, or else its plain one.
    pub qualname: u64,
    /// The line of its `def`.
    pub firstlineno: u64,
    /// Its own number, of which no other has the same.
    pub version: Option<u64>,
    /// The table of lines.
    pub lines: u64,
    /// How that is written.
    pub line_table: LineTable,
    /// How high the stack can be that its instructions work on.
    pub stacksize: u64,
    /// What kind of function it is.
    pub flags: u64,
    /// How many variables a frame of it has.
    pub nlocalsplus: Option<u64>,
    /// Where its instructions are.
    pub instructions: Instructions,
    /// How many arguments it has.
    pub argcount: u64,
    /// Tuples of names: one after the other they name the variables of a frame.
    pub variable_names: &'static [u64],
    /// What it keeps for its next call, and does not hold: `co_zombieframe` and `co_opcache`.
    pub spare: &'static [u64],
}

/// Where the instructions of a code object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// In a `bytes` object, to which this word of the code object leads.
    Bytes(u64),
    /// In the code object itself, from where positions are counted.
    Inside,
}

/// In a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unicode {
    /// The first character of a compact one that is ASCII alone: where its head ends.
    pub ascii: u64,
    /// The first character of any other compact one; the address of the characters of one that is not compact.
    pub compact: u64,
    /// The address of its copy in UTF-8, where it is not ASCII alone.
    pub utf8: u64,
}

/// In a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Its first item.
    pub items: u64,
}

/// In the iterator of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeIterator {
    /// It has an index. (before 3.12)
    CountsUp {
        /// Of the next item.
        index: u64,
        /// How many there are.
        length: u64,
    },
    /// It has what is left.
    CountsDown {
        /// The next item.
        start: u64,
        /// The distance to the next one.
        step: u64,
        /// How many there are still.
        left: u64,
    },
}

/// In any object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The bits of its first word that count references.
    pub count_mask: u64,
    /// Those that are flags.
    pub flags_mask: u64,
    /// How objects are known that are compiled into the interpreter.
    pub constant: Option<Constant>,
}

/// What the first word of an object is that is compiled into the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// So much,
    pub references: u64,
    /// give or take less than this: it may have been counted on a little.
    pub slack: u64,
}

/// In a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its code.
    pub code: u64,
    /// The dict of its module.
    pub globals: u64,
    /// The tuple of defaults of its last parameters.
    pub defaults: u64,
    /// The dict of defaults of parameters that only have names.
    pub kwdefaults: u64,
    /// The tuple of cells that it uses.
    pub closure: u64,
}

/// Where a generator has its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// A word leads to the frame object.
    Object(u64),
    /// It lies in the generator.
    Inside {
        /// The frame.
        frame: u64,
        /// A byte that is positive where it is over.
        state: u64,
    },
}

/// In an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// `__traceback__`
    pub traceback: u64,
    /// `__context__`
    pub context: u64,
    /// `__cause__`
    pub cause: u64,
}

/// How the number of digits and the sign of an `int` are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// As a number that is negative where the `int` is.
    Signed,
    /// As a number above some bits that are the sign. (3.12 and later)
    Tagged {
        /// How many bits.
        shift: u32,
        /// Those that are the sign.
        sign_mask: u64,
        /// What they say of a negative one.
        negative: u64,
    },
}

/// In the keys of a dict. The entries lie after the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Entries of three words: hash, key and value. (before 3.11)
    Wide {
        /// How many indices there are.
        size: u64,
        /// How many entries are in use, or were.
        nentries: u64,
        /// The indices.
        indices: u64,
    },
    /// Entries of two words, without a hash, where all keys are strings.
    Compact {
        /// A byte: the logarithm of how many indices there are.
        log2_size: u64,
        /// A byte: the logarithm of how many bytes they have together.
        log2_index_bytes: u64,
        /// A byte: 0 where entries have hashes.
        kind: u64,
        /// How many entries are in use, or were.
        nentries: u64,
        /// The indices.
        indices: u64,
    },
}

/// Where instances of classes have their attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Those whose type leaves it to the interpreter.
    pub managed: ManagedDict,
    /// In values that share their keys with others: the first.
    pub first_value: u64,
}

/// Where an instance has its attributes whose type leaves it to the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedDict {
    /// There are none: `tp_dictoffset` says where the dict is. (before 3.11)
    None,
    /// Values and dict in two words before it. (3.11)
    TwoWords,
    /// One or the other in one word; values have the lowest bit set. (3.12)
    OneWord,
    /// A dict in a word before it, values after it. (3.13 and later)
    Inline {
        /// In the values: a byte that is 1 while they are in use.
        valid: u64,
    },
}

/// In a type that is on the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapType {
    /// Its qualified name.
    pub qualname: u64,
    /// The keys that its instances share.
    pub cached_keys: u64,
}

/// In the state of the whole runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The newest interpreter.
    pub interpreters: u64,
}

/// In an interpreter's state. These differ between patch releases: from 3.13 on the interpreter says where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The next interpreter.
    pub next: u64,
    /// The newest thread.
    pub threads: u64,
    /// `sys.modules`
    pub modules: u64,
    /// Search functions of codecs, and what they found.
    pub codecs: [u64; 2],
}

/// Sizes of what small blocks lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pools {
    /// Bytes of an arena.
    pub arena: u64,
    /// Bytes of a pool, which is aligned to them.
    pub pool: u64,
}
