//! CPython 3.11.7. Written by `cargo xtask cpython-tables`: not to be edited.

use crate::bytecode::Opcodes;
use crate::layout::{
    Attributes, Code, Constant, Exception, Frame, Function, Generator, HeapType, Instructions, Integer,
    Interpreter, Keys, Layout, ManagedDict, Object, Pools, Position, RangeIterator, Record, Runs, Runtime,
    Thread, Tuple, Unicode,
};
use crate::lines::LineTable;
use crate::table::Table;

/// Of 3.11.
pub(super) static TABLE: Table = Table { layout: &LAYOUT, opcodes: &OPCODES, words: None };

static LAYOUT: Layout = Layout {
    generator: Generator::Inside { frame: 80, state: 75 },
    integer: Integer::Signed,
    keys: Keys::Compact { log2_size: 8, log2_index_bytes: 9, kind: 10, nentries: 24, indices: 32 },
    iterators_have_free_lists: false,
    range_iterator: RangeIterator::CountsUp { index: 16, length: 40 },
    thread: Thread {
        next: 8,
        thread_id: 152,
        native_thread_id: Some(160),
        frame: 56,
        frame_of_record: Some(8),
        record: Some(Record { innermost: 56, previous: 16 }),
    },
    frame: Frame {
        code: 32,
        instruction: 56,
        position: Position::Address(184),
        previous: 48,
        globals: 8,
        locals: 24,
        variables: 72,
        stack: None,
        owner: None,
        is_entry: Some(68),
        runs: Runs::EntryFlag,
        of_object: Some(24),
        tag_mask: 0,
    },
    code: Code {
        filename: 112,
        name: 120,
        firstlineno: 72,
        argcount: 56,
        stacksize: 68,
        flags: 48,
        qualname: 128,
        nlocalsplus: Some(76),
        variable_names: &[96],
        instructions: Instructions::Inside,
        spare: &[],
        version: None,
        lines: 136,
        line_table: LineTable::Locations,
    },
    unicode: Unicode { ascii: 48, compact: 72, utf8: 56 },
    object: Object {
        count_mask: 0xffffffffffffffff,
        flags_mask: 0,
        constant: Some(Constant { references: 999999999, slack: 1 << 20 }),
    },
    tuple: Tuple { items: 24 },
    exception: Exception { traceback: 40, context: 48, cause: 56 },
    function: Function { code: 48, globals: 16, defaults: 56, kwdefaults: 64, closure: 72 },
    attributes: Attributes { first_value: 0, managed: ManagedDict::TwoWords },
    heap_type: HeapType { qualname: 864, cached_keys: 872 },
    runtime: Runtime { interpreters: 40 },
    interpreter: Interpreter { next: 0, threads: 16, modules: 888, codecs: [936, 944] },
    pools: Pools { arena: 1048576, pool: 16384 },
};

static OPCODES: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[93],
    absolute: &[],
    backward: &[38, 140, 173, 174, 175, 176],
    forward: &[110, 111, 112, 114, 115, 123, 128, 129],
    terminal: &[38, 83, 110, 119, 130, 134, 140],
    yields: &[86],
    handlers: &[],
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 8, 1), (9, 12, 0), (13, 14, 1), (15, 15, 0), (16, 16, 1), (17, 25, 4), (26, 29, 2), (30, 38, 0),
        (39, 43, 4), (44, 46, 0), (47, 48, 5), (49, 54, 0), (55, 55, 5), (56, 59, 10), (60, 60, 1), (61, 61, 0), (62, 63, 10),
        (64, 67, 1), (68, 71, 0), (72, 73, 1), (74, 75, 0), (76, 81, 1), (82, 91, 0), (92, 92, 1), (93, 94, 0), (95, 95, 4),
        (96, 105, 0), (106, 106, 4), (107, 107, 2), (108, 112, 0), (113, 113, 1), (114, 115, 0), (116, 116, 5), (117, 120, 0), (121, 122, 1),
        (123, 126, 0), (127, 127, 1), (128, 140, 0), (141, 141, 1), (142, 142, 0), (143, 143, 1), (144, 152, 0), (153, 154, 4), (155, 157, 0),
        (158, 159, 4), (160, 160, 10), (161, 165, 0), (166, 166, 1), (167, 167, 0), (168, 170, 1), (171, 171, 4), (172, 176, 0), (177, 180, 1),
    ],
};
