//! What is read of one frame and of its code object.
//!
//! Every word is read from an object that the thread itself keeps alive: its state, its frames, their code. What is not a
//! code object by its type is not read.

use heaplens_cpython::code::Bytes;
use heaplens_cpython::layout::Code;
use heaplens_cpython::{ReadMemory, fixed};

use crate::modules::interpreter::{Known, Thread};
use crate::modules::memory::{Live, half, word};

/// What sets a frame apart from the same one further out: its depth times this.
pub(super) const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Known {
    /// The code of a frame; `None` for frames that no code runs in.
    #[inline(always)]
    pub(super) fn code(&self, frame: u64) -> Option<u64> {
        let code = self.layout.code_of_frame(&Live, frame)?;
        (code > 7 && code & 4 == 0 && word(code, fixed::object::TYPE) == self.code_type).then_some(code)
    }

    /// Where a frame is, as it says so itself: an index or an address.
    #[inline(always)]
    pub(super) fn position(&self, frame: u64) -> u64 {
        self.layout.frame.position_of(&Live, frame).unwrap_or(0)
    }

    #[inline]
    pub(super) fn instruction(&self, code: u64, position: u64) -> u32 {
        self.layout.instruction(code, position)
    }

    /// What sets a code object apart from another one that lived at the same address before. Since 3.12 each has a number. Before
    /// that its name, file and line table die and are born at the same addresses as well (in a loop of `exec` on 3.8 nearly
    /// always), so what they say is part of it.
    #[inline(always)]
    pub(super) fn identity(&self, code: u64) -> u64 {
        let Code { filename, qualname, lines, firstlineno, version, .. } = self.layout.code;
        if let Some(version) = version {
            return code ^ u64::from(half(code, version)).wrapping_mul(STRIDE);
        }
        let [file, title, lines] = [filename, qualname, lines].map(|offset| word(code, offset));
        let addresses = code ^ file.rotate_left(20) ^ title.rotate_left(40) ^ lines.rotate_left(8);
        let contents =
            text_hash(file).rotate_left(13) ^ text_hash(title) ^ ends_of_bytes(lines).rotate_left(31);
        addresses ^ contents ^ u64::from(half(code, firstlineno)) << 32
    }
}

/// The hash that a `str` object keeps of itself; -1 until somebody asks for it, which for names is when they are made.
#[inline(always)]
fn text_hash(object: u64) -> u64 {
    if object == 0 { 0 } else { word(object, fixed::unicode::HASH) }
}

/// The first and the last bytes of a `bytes` object and its size. It is never smaller than its head and one word.
#[inline(always)]
fn ends_of_bytes(object: u64) -> u64 {
    if object == 0 {
        return 0;
    }
    let Some(Bytes { start, length }) = Bytes::of_object(&Live, object) else { return 0 };
    let last = Live.bytes(start - 8 + length.max(8)).map_or(0, u64::from_le_bytes);
    word(start, 0) ^ last.rotate_left(23) ^ length.rotate_left(47)
}

impl Thread<'_> {
    /// The innermost frame; 0 where there is none.
    #[inline(always)]
    pub(super) fn innermost(&self) -> u64 {
        self.known.layout.innermost_frame(&Live, self.state).unwrap_or(0)
    }
}
