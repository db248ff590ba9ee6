//! Code objects: their instructions, and what distinguishes one from another.

use crate::fixed::{bytes, code_flag};
use crate::layout::{Instructions, Layout, Position};
use crate::memory::ReadMemory;

/// Bytes that lie somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Where.
    pub start: u64,
    /// How many.
    pub length: u64,
}

impl Bytes {
    /// The contents of a `bytes` object.
    #[inline(always)]
    pub fn of_object<M: ReadMemory>(memory: &M, object: u64) -> Option<Self> {
        Some(Self { start: object + bytes::DATA, length: memory.word(object + bytes::SIZE)? })
    }
}

impl Layout {
    /// The instructions of a code object.
    pub fn instructions<M: ReadMemory>(&self, memory: &M, code: u64) -> Option<Bytes> {
        match (self.code.instructions, self.frame.position) {
            (Instructions::Bytes(word), _) => Bytes::of_object(memory, memory.word(code + word)?),
            (Instructions::Inside, Position::Address(first)) => {
                // The code object has as many items as instructions, of two bytes each.
                let units = memory.word(code + crate::fixed::object::SIZE)?;
                Some(Bytes { start: code + first, length: units.checked_mul(2)? })
            }
            (Instructions::Inside, Position::Index(_)) => None,
        }
    }

    /// Whether its frames can be suspended and resumed: the code of a generator or coroutine. Such a frame stays where it is
    /// meanwhile.
    pub fn can_suspend<M: ReadMemory>(&self, memory: &M, code: u64) -> bool {
        let suspend = code_flag::GENERATOR | code_flag::COROUTINE | code_flag::ASYNC_GENERATOR;
        memory.half(code + self.code.flags).is_some_and(|flags| u64::from(flags) & suspend != 0)
    }

    /// Whether code is the interpreter's own, run between a class that is called and its `__init__` (3.13 and later). Its
    /// file and its name are one object, and it begins on no line; the interpreter's own tracebacks leave it out, too.
    pub fn is_of_a_call<M: ReadMemory>(&self, memory: &M, code: u64) -> bool {
        memory.word(code + self.code.filename) == memory.word(code + self.code.name)
            && memory.half(code + self.code.firstlineno) == Some(0)
    }
}
