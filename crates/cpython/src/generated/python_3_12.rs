//! CPython 3.12.1. Written by `cargo xtask cpython-tables`: not to be edited.

use crate::bytecode::Opcodes;
use crate::layout::{
    Attributes, Code, Constant, Exception, Frame, Function, Generator, HeapType, Instructions, Integer,
    Interpreter, Keys, Layout, ManagedDict, Object, Pools, Position, RangeIterator, Record, Runs, Runtime,
    Thread, Tuple, Unicode,
};
use crate::lines::LineTable;
use crate::table::Table;

/// Of 3.12.
pub(super) static TABLE: Table = Table { layout: &LAYOUT, opcodes: &OPCODES, words: None };

static LAYOUT: Layout = Layout {
    generator: Generator::Inside { frame: 72, state: 67 },
    integer: Integer::Tagged { shift: 3, sign_mask: 3, negative: 2 },
    keys: Keys::Compact { log2_size: 8, log2_index_bytes: 9, kind: 10, nentries: 24, indices: 32 },
    iterators_have_free_lists: false,
    range_iterator: RangeIterator::CountsDown { start: 16, step: 24, left: 32 },
    thread: Thread {
        next: 8,
        thread_id: 136,
        native_thread_id: Some(144),
        frame: 56,
        frame_of_record: Some(0),
        record: Some(Record { innermost: 56, previous: 8 }),
    },
    frame: Frame {
        code: 0,
        instruction: 56,
        position: Position::Address(192),
        previous: 8,
        globals: 24,
        locals: 40,
        variables: 72,
        stack: None,
        owner: Some(70),
        is_entry: None,
        runs: Runs::EntryFrame,
        of_object: Some(24),
        tag_mask: 0,
    },
    code: Code {
        filename: 112,
        name: 120,
        firstlineno: 68,
        argcount: 52,
        stacksize: 64,
        flags: 48,
        qualname: 128,
        nlocalsplus: Some(72),
        variable_names: &[96],
        instructions: Instructions::Inside,
        spare: &[],
        version: Some(92),
        lines: 136,
        line_table: LineTable::Locations,
    },
    unicode: Unicode { ascii: 40, compact: 56, utf8: 48 },
    object: Object {
        count_mask: 0xffffffffffffffff,
        flags_mask: 0,
        constant: Some(Constant { references: 0xffffffff, slack: 1 }),
    },
    tuple: Tuple { items: 24 },
    exception: Exception { traceback: 40, context: 48, cause: 56 },
    function: Function { code: 48, globals: 16, defaults: 56, kwdefaults: 64, closure: 72 },
    attributes: Attributes { first_value: 0, managed: ManagedDict::OneWord },
    heap_type: HeapType { qualname: 872, cached_keys: 880 },
    runtime: Runtime { interpreters: 40 },
    interpreter: Interpreter { next: 0, threads: 72, modules: 944, codecs: [1248, 1256] },
    pools: Pools { arena: 1048576, pool: 16384 },
};

static OPCODES: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[62, 63, 64, 65, 93],
    absolute: &[],
    backward: &[140],
    forward: &[110, 114, 115, 123, 128, 129, 168],
    terminal: &[83, 110, 119, 121, 130, 134, 140],
    yields: &[150],
    handlers: &[35, 55],
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 5, 0), (6, 8, 1), (9, 9, 0), (10, 10, 1), (11, 12, 0), (13, 14, 1), (15, 15, 0), (16, 16, 1), (18, 22, 1),
        (23, 24, 3), (25, 25, 1), (26, 27, 0), (28, 29, 3), (30, 33, 0), (34, 34, 3), (35, 37, 0), (38, 48, 3), (49, 55, 0),
        (56, 56, 3), (57, 60, 1), (61, 61, 0), (62, 67, 1), (68, 69, 0), (70, 70, 9), (71, 71, 0), (72, 73, 9), (74, 75, 0),
        (76, 82, 9), (83, 91, 0), (92, 93, 1), (94, 94, 0), (95, 95, 4), (96, 105, 0), (106, 106, 9), (107, 107, 1), (108, 110, 0),
        (111, 113, 4), (114, 115, 0), (116, 116, 4), (117, 121, 0), (122, 123, 1), (124, 140, 0), (141, 141, 1), (142, 147, 0), (148, 148, 4),
        (149, 152, 0), (153, 153, 4), (154, 158, 0), (159, 161, 1), (162, 165, 0), (166, 168, 1), (171, 171, 3), (172, 176, 0),
    ],
};
