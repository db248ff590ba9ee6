//! CPython 3.10.13. Written by `cargo xtask cpython-tables`: not to be edited.

use crate::bytecode::Opcodes;
use crate::layout::{
    Attributes, Code, Exception, Frame, Function, Generator, HeapType, Instructions, Integer, Interpreter,
    Keys, Layout, ManagedDict, Object, Pools, Position, RangeIterator, Record, Runs, Runtime, Thread, Tuple,
    Unicode,
};
use crate::lines::LineTable;
use crate::table::Table;

/// Of 3.10.
pub(super) static TABLE: Table = Table { layout: &LAYOUT, opcodes: &OPCODES, words: None };

static LAYOUT: Layout = Layout {
    generator: Generator::Object(16),
    integer: Integer::Signed,
    keys: Keys::Wide { size: 8, nentries: 32, indices: 40 },
    iterators_have_free_lists: false,
    range_iterator: RangeIterator::CountsUp { index: 16, length: 40 },
    thread: Thread {
        next: 8,
        thread_id: 176,
        native_thread_id: None,
        frame: 24,
        frame_of_record: None,
        record: Some(Record { innermost: 48, previous: 8 }),
    },
    frame: Frame {
        code: 32,
        instruction: 96,
        position: Position::Index(1),
        previous: 24,
        globals: 48,
        locals: 56,
        variables: 352,
        stack: Some(64),
        owner: None,
        is_entry: None,
        runs: Runs::SingleRecorded,
        of_object: None,
        tag_mask: 0,
    },
    code: Code {
        filename: 104,
        name: 112,
        firstlineno: 40,
        argcount: 16,
        stacksize: 32,
        flags: 36,
        qualname: 112,
        nlocalsplus: None,
        variable_names: &[72, 88, 80],
        instructions: Instructions::Bytes(48),
        spare: &[128, 160],
        version: None,
        lines: 120,
        line_table: LineTable::Ranges,
    },
    unicode: Unicode { ascii: 48, compact: 72, utf8: 56 },
    object: Object { count_mask: 0xffffffffffffffff, flags_mask: 0, constant: None },
    tuple: Tuple { items: 24 },
    exception: Exception { traceback: 32, context: 40, cause: 48 },
    function: Function { code: 48, globals: 16, defaults: 56, kwdefaults: 64, closure: 72 },
    attributes: Attributes { first_value: 0, managed: ManagedDict::None },
    heap_type: HeapType { qualname: 864, cached_keys: 872 },
    runtime: Runtime { interpreters: 32 },
    interpreter: Interpreter { next: 0, threads: 8, modules: 856, codecs: [912, 920] },
    pools: Pools { arena: 1048576, pool: 16384 },
};

static OPCODES: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[93],
    absolute: &[111, 112, 113, 114, 115, 121],
    backward: &[],
    forward: &[110, 122, 143, 154],
    terminal: &[83, 110, 113, 119, 130],
    yields: &[86],
    handlers: &[],
    bytes_per_unit: 2,
    caches: &[],
};
