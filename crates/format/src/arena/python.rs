//! Python code objects and frames as the agent copies them: a code object dies, and its address is used again, so what is
//! to be said about it is copied when it is first seen.
//!
//! ```text
//!   frame   module 0xfffe : 16 │ code : 24 │ instruction : 24
//! ```

use crate::atomic::{AtomicU32, AtomicU64};

use super::frame::{frame_word, split_frame};

/// The module number of Python frames.
pub const FRAME_PYTHON_MODULE: u16 = u16::MAX - 1;
/// The module number of nodes that are no frames: what the agent interns through the trie's index. No site lies on one.
pub const FRAME_INTERN_MODULE: u16 = u16::MAX - 2;

/// The instruction of a frame that has not begun: its line is the first of its code.
pub const NO_INSTRUCTION: u32 = (1 << INSTRUCTION_BITS) - 1;

const INSTRUCTION_BITS: u32 = 24;
/// The largest number of a code object that fits a frame; the first one has number 1.
pub const MAX_CODE: u32 = (1 << 24) - 1;

/// The most small objects that are in the sample at a time.
pub const OBJECT_SAMPLES: usize = 1 << 15;

/// A small object that is in the sample. The table is the agent's own, and changed by one thread at a time.
#[derive(Debug)]
#[repr(C)]
pub struct ObjectSample {
    /// Where it is; 0 for none.
    pub addr: AtomicU64,
    /// The stack that made it.
    pub site: AtomicU32,
    /// Its size; `u32::MAX` where it is being removed.
    pub size: AtomicU32,
}

/// The size of one.
pub const OBJECT_SAMPLE_SIZE: usize = size_of::<ObjectSample>();

/// A code object, written once, published by `published`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CodeRecord {
    /// Qualified name (plain before 3.11): offset in STRINGS in the high, length in the low half.
    pub name: AtomicU64,
    /// File name: likewise.
    pub file: AtomicU64,
    /// The line table as the interpreter has it: likewise.
    pub lines: AtomicU64,
    /// The line of its `def`.
    pub first_line: AtomicU32,
    /// How that table is written: `LineTable` of `heaplens-cpython`, as a number.
    pub table: AtomicU32,
    /// Its loops, where it is the user's own (`CodeLoop` of `heaplens-cpython`): offset in STRINGS in the high, bytes in the low
    /// half.
    pub loops: AtomicU64,
    /// 1 when the record is whole.
    pub published: AtomicU64,
}

/// The size of a [`CodeRecord`].
pub const CODE_SIZE: usize = 48;
const _: () = assert!(size_of::<CodeRecord>() == CODE_SIZE);

/// A Python frame as the trie keeps it; the instruction is counted in units of two bytes from the start of the code.
#[inline(always)]
pub const fn python_frame(code: u32, instruction: u32) -> u64 {
    let instruction = if instruction > NO_INSTRUCTION { NO_INSTRUCTION } else { instruction };
    frame_word(FRAME_PYTHON_MODULE, (code as u64) << INSTRUCTION_BITS | instruction as u64)
}

/// Code and instruction of a Python frame; `None` for any other.
pub const fn split_python_frame(frame: u64) -> Option<(u32, u32)> {
    match split_frame(frame) {
        (FRAME_PYTHON_MODULE, word) => {
            Some(((word >> INSTRUCTION_BITS) as u32, word as u32 & NO_INSTRUCTION))
        }
        _ => None,
    }
}

/// What the agent found of Python in the process, as [`super::Header::python`] keeps it.
///
/// ```text
///   │ 31 … 24 Reading │ 23 … 16 major │ 15 … 8 minor │ 7 … 0 unused │      0: no interpreter seen
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Whether its frames are read.
    pub reading: Reading,
    /// 3.
    pub major: u8,
    /// The part after the first point; 0 where even that is not known.
    pub minor: u8,
}

/// Whether the frames of an interpreter are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reading {
    /// They are.
    Frames = 1,
    /// Its version is older or newer than what is known.
    UnknownVersion = 2,
    /// A build without the global lock.
    FreeThreaded = 3,
    /// A debug build, whose objects are laid out otherwise.
    DebugBuild = 4,
}

impl Interpreter {
    /// As one word.
    pub const fn raw(self) -> u32 {
        (self.reading as u32) << 24 | (self.major as u32) << 16 | (self.minor as u32) << 8
    }

    /// From the word; `None` when no interpreter was seen.
    pub const fn from_raw(raw: u32) -> Option<Self> {
        let reading = match raw >> 24 {
            1 => Reading::Frames,
            2 => Reading::UnknownVersion,
            3 => Reading::FreeThreaded,
            4 => Reading::DebugBuild,
            _ => return None,
        };
        Some(Self { reading, major: (raw >> 16) as u8, minor: (raw >> 8) as u8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_frame_reads_back() {
        assert_eq!(split_python_frame(python_frame(MAX_CODE, 77)), Some((MAX_CODE, 77)));
        assert_eq!(split_python_frame(python_frame(1, u32::MAX)), Some((1, NO_INSTRUCTION)));
        assert_eq!(split_python_frame(frame_word(3, 77)), None);
    }

    #[test]
    fn an_interpreter_reads_back() {
        let found = Interpreter { reading: Reading::FreeThreaded, major: 3, minor: 13 };
        assert_eq!(Interpreter::from_raw(found.raw()), Some(found));
        assert_eq!(Interpreter::from_raw(0), None);
    }
}
