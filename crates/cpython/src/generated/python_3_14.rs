//! CPython 3.14.8. Written by `cargo xtask cpython-tables`: not to be edited.

use crate::bytecode::Opcodes;
use crate::layout::{
    Attributes, Code, Constant, Exception, Frame, Function, Generator, HeapType, Instructions, Integer,
    Interpreter, Keys, Layout, ManagedDict, Object, Pools, Position, RangeIterator, Runs, Runtime, Thread,
    Tuple, Unicode,
};
use crate::lines::LineTable;
use crate::table::{DebugWords, Table};

/// Of 3.14.
pub(super) static TABLE: Table = Table { layout: &LAYOUT, opcodes: &OPCODES, words: Some(&WORDS) };

static LAYOUT: Layout = Layout {
    generator: Generator::Inside { frame: 72, state: 67 },
    integer: Integer::Tagged { shift: 3, sign_mask: 3, negative: 2 },
    keys: Keys::Compact { log2_size: 8, log2_index_bytes: 9, kind: 10, nentries: 24, indices: 32 },
    iterators_have_free_lists: true,
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
        position: Position::Address(208),
        previous: 8,
        globals: 24,
        locals: 40,
        variables: 80,
        stack: None,
        owner: Some(74),
        is_entry: None,
        runs: Runs::EntryFrame,
        of_object: Some(24),
        tag_mask: 3,
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
        count_mask: 0xffffffff,
        flags_mask: 0xffff000000000000,
        constant: Some(Constant { references: 0x50000c0000000, slack: 1 << 20 }),
    },
    tuple: Tuple { items: 32 },
    exception: Exception { traceback: 40, context: 48, cause: 56 },
    function: Function { code: 48, globals: 16, defaults: 56, kwdefaults: 64, closure: 72 },
    attributes: Attributes { first_value: 8, managed: ManagedDict::Inline { valid: 3 } },
    heap_type: HeapType { qualname: 872, cached_keys: 880 },
    runtime: Runtime { interpreters: 808 },
    interpreter: Interpreter { next: 7272, threads: 7344, modules: 7688, codecs: [8000, 8008] },
    pools: Pools { arena: 1048576, pool: 16384 },
};

static OPCODES: Opcodes = Opcodes {
    extended: 69,
    for_iter: &[70, 171, 172, 173, 174],
    absolute: &[],
    backward: &[75, 175, 176],
    forward: &[77, 100, 101, 102, 103, 106, 197],
    terminal: &[35, 75, 76, 77, 104, 105, 175, 176],
    yields: &[120],
    handlers: &[32],
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 3, 5), (4, 16, 0), (18, 37, 0), (38, 38, 1), (39, 39, 3), (40, 43, 0), (44, 44, 5), (45, 51, 0),
        (52, 52, 3), (53, 54, 0), (55, 55, 3), (56, 57, 1), (58, 69, 0), (70, 70, 1), (71, 74, 0), (75, 75, 1), (76, 79, 0),
        (80, 80, 9), (81, 91, 0), (92, 92, 4), (93, 95, 0), (96, 96, 1), (97, 99, 0), (100, 103, 1), (104, 105, 0), (106, 106, 1),
        (107, 109, 0), (110, 110, 4), (111, 118, 0), (119, 119, 1), (120, 120, 0), (128, 128, 0), (129, 142, 5), (143, 165, 3), (166, 176, 1),
        (177, 189, 9), (190, 191, 0), (192, 193, 4), (194, 195, 1), (196, 196, 0), (197, 197, 1), (198, 200, 4), (201, 202, 1), (203, 208, 3),
        (209, 211, 1),
    ],
};

static WORDS: DebugWords = DebugWords {
    free_threaded: 2,
    interpreters: 5,
    next_interpreter: 8,
    threads: 9,
    modules: 12,
    next_thread: 24,
    thread_frame: 26,
    thread_id: 27,
    native_thread_id: 28,
    frame_previous: 32,
    frame_code: 33,
    frame_instruction: 34,
    frame_variables: 35,
    frame_owner: 36,
    filename: 40,
    name: 41,
    qualname: 42,
    lines: 43,
    firstlineno: 44,
    argcount: 45,
    instructions: 48,
    tuple_items: 57,
};
