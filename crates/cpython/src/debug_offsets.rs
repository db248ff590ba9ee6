//! What an interpreter says of its own layout (`_Py_DebugOffsets`, 3.13 and later): words at the beginning of `_PyRuntime`, after a
//! cookie and its version. Patch releases move what is in the states of interpreters and threads; this is where they say so.

use crate::generated;
use crate::layout::{Layout, Position};
use crate::memory::ReadMemory;
use crate::table::DebugWords;
use crate::version::Version;

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// No field of a frame, of code or of a tuple lies further in, and none of the state of an interpreter.
const LONGEST_OBJECT: u64 = 1 << 10;
const LONGEST_STATE: u64 = 1 << 20;

/// Why the layout of an interpreter is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Its version is older or newer than what is known.
    UnknownVersion,
    /// It is a build without the global lock.
    FreeThreaded,
    /// It is a debug build, whose objects are laid out otherwise.
    DebugBuild,
}

impl Layout {
    /// Of the interpreter whose `_PyRuntime` lies at this address: what its headers say, and what it says itself where it does.
    pub fn read<M: ReadMemory>(memory: &M, version: Version, runtime: u64) -> Result<Self, Unreadable> {
        let table = generated::table(version).ok_or(Unreadable::UnknownVersion)?;
        let Some(words) = table.words else { return Ok(*table.layout) };
        let said = Said { memory, runtime };
        let has_cookie = said.word(0) == Some(COOKIE);
        if !has_cookie || said.word(1).map(Version::from_hex) != Some(version) {
            return Err(Unreadable::UnknownVersion);
        }
        match said.word(words.free_threaded) {
            Some(0) => said.fill_in(words, table.layout).ok_or(Unreadable::UnknownVersion),
            Some(_) => Err(Unreadable::FreeThreaded),
            None => Err(Unreadable::UnknownVersion),
        }
    }
}

struct Said<'m, M> {
    memory: &'m M,
    runtime: u64,
}

impl<M: ReadMemory> Said<'_, M> {
    fn word(&self, index: u64) -> Option<u64> {
        self.memory.word(self.runtime.checked_add(8 * index)?)
    }

    /// An offset in an object. It must at least look like one.
    fn field(&self, index: u64) -> Option<u64> {
        self.word(index).filter(|&offset| offset < LONGEST_OBJECT)
    }

    /// That of a word which is not the first.
    fn pointer(&self, index: u64) -> Option<u64> {
        self.field(index).filter(|&offset| offset > 0 && offset % 8 == 0)
    }

    /// An offset in the state of the runtime, of an interpreter or of a thread.
    fn state(&self, index: u64) -> Option<u64> {
        self.word(index).filter(|&offset| offset < LONGEST_STATE && offset % 8 == 0)
    }

    fn fill_in(&self, words: &DebugWords, table: &Layout) -> Option<Layout> {
        let mut layout = *table;
        layout.runtime.interpreters = self.state(words.interpreters)?;
        layout.interpreter.next = self.state(words.next_interpreter)?;
        layout.interpreter.threads = self.state(words.threads)?;
        layout.interpreter.modules = self.state(words.modules)?;
        layout.thread.next = self.state(words.next_thread)?;
        layout.thread.thread_id = self.state(words.thread_id)?;
        layout.thread.native_thread_id = Some(self.state(words.native_thread_id)?);
        layout.thread.frame = self.pointer(words.thread_frame)?;
        layout.frame.previous = self.pointer(words.frame_previous)?;
        layout.frame.code = self.field(words.frame_code)?;
        layout.frame.instruction = self.pointer(words.frame_instruction)?;
        layout.frame.variables = self.pointer(words.frame_variables)?;
        layout.frame.owner = Some(self.field(words.frame_owner)?);
        layout.frame.position = Position::Address(self.pointer(words.instructions)?);
        layout.code.filename = self.pointer(words.filename)?;
        layout.code.name = self.pointer(words.name)?;
        layout.code.qualname = self.pointer(words.qualname)?;
        layout.code.lines = self.pointer(words.lines)?;
        layout.code.firstlineno = self.field(words.firstlineno)?;
        layout.code.argcount = self.field(words.argcount)?;
        layout.tuple.items = self.pointer(words.tuple_items)?;
        Some(layout)
    }
}
