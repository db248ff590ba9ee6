//! What the table of one version consists of.

use crate::bytecode::Opcodes;
use crate::layout::Layout;

/// What is known of a version.
pub(crate) struct Table {
    pub(crate) layout: &'static Layout,
    pub(crate) opcodes: &'static Opcodes,
    /// Where it says itself what its layout is.
    pub(crate) words: Option<&'static DebugWords>,
}

/// Which words of `_Py_DebugOffsets` say what, each named as the field of a layout that it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DebugWords {
    pub free_threaded: u64,
    pub interpreters: u64,
    pub next_interpreter: u64,
    pub threads: u64,
    pub modules: u64,
    pub next_thread: u64,
    pub thread_frame: u64,
    pub thread_id: u64,
    pub native_thread_id: u64,
    pub frame_previous: u64,
    pub frame_code: u64,
    pub frame_instruction: u64,
    pub frame_variables: u64,
    pub frame_owner: u64,
    pub filename: u64,
    pub name: u64,
    pub qualname: u64,
    pub lines: u64,
    pub firstlineno: u64,
    pub argcount: u64,
    pub instructions: u64,
    pub tuple_items: u64,
}
