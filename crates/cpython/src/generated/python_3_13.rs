//! CPython 3.13.0. Written by `cargo xtask cpython-tables`: not to be edited.

use crate::bytecode::Opcodes;
use crate::layout::{
    Attributes, Code, Constant, Exception, Frame, Function, Generator, HeapType, Instructions, Integer,
    Interpreter, Keys, Layout, ManagedDict, Object, Pools, Position, RangeIterator, Runs, Runtime, Thread,
    Tuple, Unicode,
};
use crate::lines::LineTable;
use crate::table::{DebugWords, Table};

/// Of 3.13.
pub(super) static TABLE: Table = Table { layout: &LAYOUT, opcodes: &OPCODES, words: Some(&WORDS) };

static LAYOUT: Layout = Layout {
    generator: Generator::Inside { frame: 72, state: 67 },
    integer: Integer::Tagged { shift: 3, sign_mask: 3, negative: 2 },
    keys: Keys::Compact { log2_size: 8, log2_index_bytes: 9, kind: 10, nentries: 24, indices: 32 },
    iterators_have_free_lists: false,
    range_iterator: RangeIterator::CountsDown { start: 16, step: 24, left: 32 },
    thread: Thread {
        next: 8,
        thread_id: 152,
        native_thread_id: Some(160),
        frame: 72,
        frame_of_record: None,
        record: None,
    },
    frame: Frame {
        code: 0,
        instruction: 56,
        position: Position::Address(200),
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
    attributes: Attributes { first_value: 8, managed: ManagedDict::Inline { valid: 3 } },
    heap_type: HeapType { qualname: 872, cached_keys: 880 },
    runtime: Runtime { interpreters: 632 },
    interpreter: Interpreter { next: 7264, threads: 7344, modules: 7656, codecs: [7960, 7968] },
    pools: Pools { arena: 1048576, pool: 16384 },
};

static OPCODES: Opcodes = Opcodes {
    extended: 71,
    for_iter: &[72, 187, 188, 189, 190],
    absolute: &[],
    backward: &[77],
    forward: &[79, 97, 98, 99, 100, 104, 208],
    terminal: &[36, 77, 78, 79, 101, 102, 103],
    yields: &[118],
    handlers: &[33],
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 3, 1), (4, 4, 0), (5, 5, 1), (6, 16, 0), (18, 38, 0), (39, 39, 1), (40, 40, 3), (41, 44, 0),
        (45, 45, 1), (46, 52, 0), (53, 53, 3), (54, 57, 0), (58, 59, 1), (60, 69, 0), (71, 71, 0), (72, 72, 1), (73, 76, 0),
        (77, 77, 1), (78, 81, 0), (82, 82, 9), (83, 90, 0), (91, 91, 4), (92, 92, 0), (93, 93, 1), (94, 96, 0), (97, 100, 1),
        (101, 103, 0), (104, 104, 1), (105, 107, 0), (108, 108, 4), (109, 116, 0), (117, 117, 1), (118, 118, 0), (149, 149, 0), (150, 161, 1),
        (162, 181, 3), (182, 190, 1), (191, 202, 9), (203, 204, 4), (205, 206, 1), (207, 207, 0), (208, 208, 1), (209, 211, 4), (212, 213, 1),
        (214, 219, 3), (220, 222, 1),
    ],
};

static WORDS: DebugWords = DebugWords {
    free_threaded: 2,
    interpreters: 5,
    next_interpreter: 8,
    threads: 9,
    modules: 11,
    next_thread: 21,
    thread_frame: 23,
    thread_id: 24,
    native_thread_id: 25,
    frame_previous: 29,
    frame_code: 30,
    frame_instruction: 31,
    frame_variables: 32,
    frame_owner: 33,
    filename: 35,
    name: 36,
    qualname: 37,
    lines: 38,
    firstlineno: 39,
    argcount: 40,
    instructions: 43,
    tuple_items: 51,
};
