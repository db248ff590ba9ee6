//! Where an interpreter keeps what a walk reads: offsets of CPython 3.8 to 3.14 on x86-64, as a table up to 3.12 and from
//! the interpreter's own words (`_Py_DebugOffsets`) after that.

use heaplens_format::arena::python::{Interpreter, LineTable, Reading};

use super::bytecode::{self, Opcodes};
use crate::symbols::Exports;

/// How the runs of frames that one C frame executes are told apart, and where on the stack that C frame is.
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

/// How a frame tells where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// By the index of its last instruction, this many of which are a unit of two bytes.
    Index(i32),
    /// By the address of an instruction; the code's instructions begin at this offset of the code object.
    Address(u64),
}

/// Offsets of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// In the thread state: the innermost frame, or the record that has it.
    pub thread_top: u64,
    /// In the record: the innermost frame.
    pub record_top: Option<u64>,
    /// In the thread state: the innermost record, where they are not the way to the frame.
    pub thread_record: u64,
    /// In a record: the next outer one.
    pub record_previous: u64,
    /// How runs are told apart.
    pub runs: Runs,
    /// In a frame: its code.
    pub frame_code: u64,
    /// In a frame: its caller.
    pub frame_previous: u64,
    /// In a frame: its position.
    pub frame_position: u64,
    /// In a frame: who owns it.
    pub frame_owner: u64,
    /// What the position is.
    pub position: Position,
    /// In a code object: the file's name.
    pub code_file: u64,
    /// In a code object: its plain name, which lies beside the others.
    pub code_name: u64,
    /// In a code object: its qualified name, or else its plain one.
    pub code_title: u64,
    /// In a code object: the first line.
    pub code_first_line: u64,
    /// In a code object: its own number, of which no other has the same; `None` where there is none.
    pub code_version: Option<u64>,
    /// In a code object: the line table.
    pub code_lines: u64,
    /// What the line table is.
    pub lines: LineTable,
    /// In a string of ASCII alone: its first byte. Others have theirs 24 bytes (16 since 3.12) further on.
    pub text_ascii: u64,
    /// In any other compact string: its first byte.
    pub text_wide: u64,
    /// Where the instructions of a code object are.
    pub instructions: Instructions,
    /// How they are written; `None` where loops are not known.
    pub opcodes: Option<&'static Opcodes>,
    /// In a code object: how high that stack can be.
    pub code_stack_size: u64,
    /// Where a frame has the stack that its instructions work on.
    pub stack: Stack,
    /// Whether the iterator of a range keeps what is left, and not an index.
    pub range_counts_down: bool,
    /// Whether iterators of ranges, lists and tuples go to free lists, so that nobody notices when their loop is over.
    pub iterators_have_free_lists: bool,
    /// In a tuple: its first item.
    pub tuple_items: u64,
}

/// Where the instructions of a code object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// In a `bytes` object, to which this word of the code object leads.
    Bytes(u64),
    /// In the code object itself, from where positions are counted.
    Inside,
}

/// Where a frame has the stack that its instructions work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// This word of the frame leads to it.
    Behind(u64),
    /// In the frame itself, behind its variables.
    Inside {
        /// In a frame: its variables.
        variables: u64,
        /// In a code object: how many of them there are.
        count: u64,
    },
}

const OLDEST: Layout = Layout {
    thread_top: 24,
    record_top: None,
    thread_record: 0,
    record_previous: 0,
    runs: Runs::Single,
    frame_code: 32,
    frame_previous: 24,
    frame_position: 104,
    frame_owner: 0,
    position: Position::Index(2),
    code_file: 104,
    code_name: 112,
    code_title: 112,
    code_first_line: 40,
    code_version: None,
    code_lines: 120,
    lines: LineTable::Deltas,
    text_ascii: 48,
    text_wide: 72,
    instructions: Instructions::Bytes(48),
    opcodes: Some(&bytecode::OLDEST),
    code_stack_size: 32,
    stack: Stack::Behind(64),
    range_counts_down: false,
    iterators_have_free_lists: false,
    tuple_items: 24,
};

const PYTHON_3_10: Layout = Layout {
    thread_record: 48,
    record_previous: 8,
    runs: Runs::SingleRecorded,
    frame_position: 96,
    position: Position::Index(1),
    lines: LineTable::Ranges,
    opcodes: Some(&bytecode::PYTHON_3_10),
    ..OLDEST
};

const PYTHON_3_11: Layout = Layout {
    thread_top: 56,
    record_top: Some(8),
    thread_record: 56,
    record_previous: 16,
    runs: Runs::EntryFlag,
    frame_code: 32,
    frame_previous: 48,
    frame_position: 56,
    frame_owner: 69,
    position: Position::Address(184),
    code_file: 112,
    code_name: 120,
    code_title: 128,
    code_first_line: 72,
    code_version: None,
    code_lines: 136,
    lines: LineTable::Locations,
    text_ascii: 48,
    text_wide: 72,
    instructions: Instructions::Inside,
    opcodes: Some(&bytecode::PYTHON_3_11),
    code_stack_size: 68,
    stack: Stack::Inside { variables: 72, count: 76 },
    range_counts_down: false,
    iterators_have_free_lists: false,
    tuple_items: 24,
};

/// In a frame of 3.11: whether it is the outermost of its run.
pub const ENTRY_FLAG: u64 = 68;

const PYTHON_3_12: Layout = Layout {
    record_top: Some(0),
    runs: Runs::EntryFrame,
    frame_code: 0,
    frame_previous: 8,
    frame_owner: 70,
    position: Position::Address(192),
    code_first_line: 68,
    code_version: Some(92),
    text_ascii: 40,
    text_wide: 56,
    opcodes: Some(&bytecode::PYTHON_3_12),
    code_stack_size: 64,
    stack: Stack::Inside { variables: 72, count: 72 },
    range_counts_down: true,
    ..PYTHON_3_11
};

/// The smallest owner of frames that no code runs in: they lie in the C frame of a run.
pub const OWNED_BY_C: u8 = 3;

/// What is known of an interpreter from its exports, and its layout where frames can be read.
pub fn recognise(exports: &Exports) -> (Interpreter, Option<Layout>) {
    let (major, minor) = version(exports);
    let told = |reading| Interpreter { reading, major, minor };
    if is_debug_build(exports) {
        return (told(Reading::DebugBuild), None);
    }
    let layout = match (major, minor) {
        (3, 8 | 9) => Some(OLDEST),
        (3, 10) => Some(PYTHON_3_10),
        (3, 11) => Some(PYTHON_3_11),
        (3, 12) => Some(PYTHON_3_12),
        (3, 13 | 14) => match from_runtime(exports, minor) {
            Ok(layout) => Some(layout),
            Err(reading) => return (told(reading), None),
        },
        _ => None,
    };
    let reading = if layout.is_some() { Reading::Frames } else { Reading::UnknownVersion };
    (told(reading), layout)
}

/// The version: said by the interpreter since 3.11, before that known by what it exports.
fn version(exports: &Exports) -> (u8, u8) {
    if let Some(symbol) = exports.find(c"Py_Version") {
        // SAFETY: `const unsigned long Py_Version` of the interpreter, which is loaded.
        let version = unsafe { (symbol.address as *const u64).read() };
        return ((version >> 24) as u8, (version >> 16) as u8);
    }
    let newest_first = [
        (c"PyModule_AddObjectRef", 10),
        (c"PyFrame_GetBack", 9),
        (c"PyCode_NewWithPosOnlyArgs", 8),
        (c"PyImport_GetModule", 7),
    ];
    let minor = newest_first.iter().find(|(name, _)| exports.find(name).is_some());
    (3, minor.map_or(0, |&(_, minor)| minor))
}

fn is_debug_build(exports: &Exports) -> bool {
    [c"_Py_RefTotal", c"_Py_INCREF_IncRefTotal", c"_Py_NegativeRefcount"]
        .iter()
        .any(|name| exports.find(name).is_some())
}

/// The interpreter's own description of itself: words of 64 bits, in sections whose lengths differ between versions.
struct Words(u64);

impl Words {
    fn get(&self, index: u64) -> u64 {
        // SAFETY: `_PyRuntime` begins with some 80 such words, and callers stay below 60.
        unsafe { ((self.0 + index * 8) as *const u64).read() }
    }
}

fn from_runtime(exports: &Exports, minor: u8) -> Result<Layout, Reading> {
    const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
    let runtime = exports.find(c"_PyRuntime").ok_or(Reading::UnknownVersion)?;
    let words = Words(runtime.address);
    if words.get(0) != COOKIE || (words.get(1) >> 16) as u8 != minor {
        return Err(Reading::UnknownVersion);
    }
    if words.get(2) != 0 {
        return Err(Reading::FreeThreaded);
    }
    // cookie, version, free_threaded; runtime state: 3 words; then the interpreter's state.
    let (interpreter, frame_words, code_words) = if minor >= 14 { (16, 8, 11) } else { (13, 6, 10) };
    let thread = 6 + interpreter;
    let frame = thread + 9;
    let code = frame + frame_words;
    // Between the code and the tuple: any object has two words, a type four.
    let tuple = code + code_words + 6;
    let layout = Layout {
        thread_top: words.get(thread + 4),
        record_top: None,
        frame_previous: words.get(frame + 1),
        frame_code: words.get(frame + 2),
        frame_position: words.get(frame + 3),
        frame_owner: words.get(frame + 5),
        code_file: words.get(code + 1),
        code_name: words.get(code + 2),
        code_title: words.get(code + 3),
        code_lines: words.get(code + 4),
        code_first_line: words.get(code + 5),
        position: Position::Address(words.get(code + 9)),
        opcodes: Some(if minor >= 14 { &bytecode::PYTHON_3_14 } else { &bytecode::PYTHON_3_13 }),
        stack: Stack::Inside { variables: words.get(frame + 4), count: 72 },
        iterators_have_free_lists: minor >= 14,
        tuple_items: words.get(tuple + 1),
        ..PYTHON_3_12
    };
    if is_plausible(&layout) { Ok(layout) } else { Err(Reading::UnknownVersion) }
}

/// Offsets that an interpreter tells must at least look like offsets.
fn is_plausible(layout: &Layout) -> bool {
    let Position::Address(first) = layout.position else { return false };
    let Stack::Inside { variables, .. } = layout.stack else { return false };
    let words = [
        layout.thread_top,
        layout.frame_previous,
        layout.frame_position,
        layout.code_file,
        layout.code_name,
        layout.code_title,
        layout.code_lines,
        first,
        variables,
        layout.tuple_items,
    ];
    words.iter().all(|&offset| offset > 0 && offset < 1024 && offset % 8 == 0)
        && layout.frame_code < 128
        && layout.frame_owner < 128
        && layout.code_first_line < 1024
}
