//! Frames: the innermost of a thread, what runs in one, and where in its code it is. A word of 0 leads nowhere.
//!
//! A walk over the frames of a thread is made with each event inside the program: what it needs is inlined, and reads no more
//! than is asked for.

use crate::fixed;
use crate::layout::{Frame, Generator, Layout, Position, Record, Runs};
use crate::memory::ReadMemory;

impl Layout {
    /// The innermost frame of a thread, by its state.
    #[inline(always)]
    pub fn innermost_frame<M: ReadMemory>(&self, memory: &M, thread: u64) -> Option<u64> {
        let top = memory.word(thread + self.thread.frame)?;
        match self.thread.frame_of_record {
            Some(offset) if top != 0 => memory.word(top.wrapping_add(offset)),
            _ => Some(top),
        }
    }

    /// The code of a frame, if any runs in it: whoever asks checks that it is code.
    #[inline(always)]
    pub fn code_of_frame<M: ReadMemory>(&self, memory: &M, frame: u64) -> Option<u64> {
        Some(memory.word(frame + self.frame.code)? & !Frame::MOST_TAGS)
    }

    /// Where in a code object a position of a frame is, in units of two bytes; `u32::MAX` before the first.
    #[inline]
    pub fn instruction(&self, code: u64, position: u64) -> u32 {
        match self.frame.position {
            Position::Index(per_unit) => u32::try_from(position as u32 as i32 / per_unit).unwrap_or(u32::MAX),
            Position::Address(first) => {
                let distance = position.wrapping_sub(code + first) as i64;
                if distance < 0 { u32::MAX } else { u32::try_from(distance / 2).unwrap_or(u32::MAX) }
            }
        }
    }

    /// Where the stack begins that the instructions of a frame work on, given how many variables the frame has.
    pub fn stack_of_frame<M: ReadMemory>(&self, memory: &M, frame: u64, variables: u64) -> Option<u64> {
        match self.frame.stack {
            Some(word) => memory.word(frame + word),
            None => frame.checked_add(self.frame.variables)?.checked_add(8 * variables),
        }
    }

    /// The frame of a frame object.
    pub fn frame_of_object<M: ReadMemory>(&self, memory: &M, object: u64) -> Option<u64> {
        match self.frame.of_object {
            Some(word) => memory.pointer(object + word),
            None => Some(object),
        }
    }

    /// The frame of a generator or coroutine that has not finished.
    pub fn frame_of_generator<M: ReadMemory>(&self, memory: &M, generator: u64) -> Option<u64> {
        match self.generator {
            Generator::Object(word) => memory.pointer(generator + word),
            Generator::Inside { frame, state } => {
                (!is_finished(memory.byte(generator + state)?)).then_some(generator + frame)
            }
        }
    }

    /// Whether an object is the generator that a frame belongs to: one that runs, or waits.
    pub fn is_generator_of<M: ReadMemory>(&self, memory: &M, object: u64, frame: u64) -> bool {
        match self.generator {
            Generator::Object(word) => memory.pointer(object + word) == Some(frame),
            Generator::Inside { frame: inside, .. } => object + inside == frame,
        }
    }

    /// Where the frame of a finished generator begins, if it lies in the generator.
    pub fn finished_frame<M: ReadMemory>(&self, memory: &M, generator: u64) -> Option<u64> {
        let Generator::Inside { frame, state } = self.generator else { return None };
        is_finished(memory.byte(generator + state)?).then_some(generator + frame)
    }
}

/// By the state of a generator: `FRAME_COMPLETED` and what is beyond.
fn is_finished(state: u8) -> bool {
    state as i8 > 0
}

impl Frame {
    /// The most bits that are no part of an address: tagged references of 3.14.
    const MOST_TAGS: u64 = 3;
    /// The tag of a number.
    const NUMBER: u64 = 3;

    /// Where a frame is, as it says so itself: an index or an address.
    #[inline(always)]
    pub fn position_of<M: ReadMemory>(&self, memory: &M, frame: u64) -> Option<u64> {
        match self.position {
            Position::Index(_) => memory.half(frame + self.instruction).map(u64::from),
            Position::Address(_) => memory.word(frame + self.instruction),
        }
    }

    /// The object that a variable or a value on the stack is; `None` where it is no object.
    #[inline]
    pub fn object(&self, value: u64) -> Option<u64> {
        let is_number = self.tag_mask != 0 && value & self.tag_mask == Self::NUMBER;
        (!is_number).then_some(value & !self.tag_mask)
    }

    /// Whether a frame is the interpreter's own: no code runs in it, and it marks the C frame that it lies in.
    #[inline]
    pub fn is_of_c<M: ReadMemory>(&self, memory: &M, frame: u64) -> bool {
        let is_of_c = |owner: u8| u64::from(owner) >= fixed::frame::OWNED_BY_C;
        self.owner.is_some_and(|owner| memory.byte(frame + owner).is_none_or(is_of_c))
    }

    /// Whether a frame is the last of a run that one C frame executes, where the frame itself says so.
    pub fn ends_run<M: ReadMemory>(&self, memory: &M, frame: u64) -> bool {
        match self.runs {
            Runs::Single | Runs::SingleRecorded => true,
            Runs::EntryFlag => {
                self.is_entry.and_then(|flag| memory.byte(frame + flag)).is_some_and(|flag| flag != 0)
            }
            Runs::EntryFrame => false,
        }
    }
}

impl Record {
    /// The innermost record of a thread, by its state; 0 where there is none.
    pub fn innermost_of<M: ReadMemory>(&self, memory: &M, thread: u64) -> Option<u64> {
        memory.word(thread + self.innermost)
    }

    /// The next outer one.
    pub fn previous_of<M: ReadMemory>(&self, memory: &M, record: u64) -> Option<u64> {
        memory.word(record + self.previous)
    }
}
