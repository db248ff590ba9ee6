//! One walk over the Python frames of the calling thread, from the innermost out.
//!
//! Every word is read from an object that the thread itself keeps alive: its state, its frames, their code. What is not a
//! code object by its type is not looked into.

use super::codes::Looping;
use super::identities::{Identities, Identity};
use super::layout::{ENTRY_FLAG, Layout, OWNED_BY_C, Position, Runs};
use super::{Known, Thread};
use crate::objects::samples::Samples;

/// The most frames of a stack that are read; of a deeper one the innermost remain.
pub const MOST_FRAMES: usize = 2048;

/// A Python frame.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PythonFrame {
    /// The code object.
    pub code: u64,
    /// The instruction, in units of two bytes; `u32::MAX` before the first.
    pub instruction: u32,
    /// Whether the run ends with this frame: what is further out was called by another C frame.
    pub ends_run: bool,
    /// Where in the C frame that executes the run something lies, for the last frame of a run; 0 where it is not known.
    pub place: u64,
}

/// Room for one walk.
#[repr(C)]
pub struct Walk {
    count: usize,
    is_cut: bool,
    frames: [PythonFrame; MOST_FRAMES],
}

/// Reads a word of a live object.
#[inline(always)]
pub(super) fn word(object: u64, offset: u64) -> u64 {
    // SAFETY: callers read within objects that the calling thread keeps alive (see the module).
    unsafe { ((object + offset) as *const u64).read_volatile() }
}

#[inline(always)]
pub(super) fn half(object: u64, offset: u64) -> u32 {
    // SAFETY: as in `word`.
    unsafe { ((object + offset) as *const u32).read_volatile() }
}

#[inline(always)]
fn byte(object: u64, offset: u64) -> u8 {
    // SAFETY: as in `word`.
    unsafe { ((object + offset) as *const u8).read_volatile() }
}

/// What sets a frame apart from the same one further out: its depth times this.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a word; a multiplication wide enough that every bit counts.
#[inline(always)]
fn mix(word: u64) -> u64 {
    let product = u128::from(word) * 0xd6e8_feb8_6659_fd93;
    (product as u64) ^ (product >> 64) as u64
}

/// Takes a frame into the number of a stack; `depth` is [`STRIDE`] times its depth.
#[inline(always)]
fn take_in(hash: u64, place: u64, depth: u64) -> u64 {
    hash.rotate_left(7).wrapping_add(mix(place ^ depth))
}

impl Known {
    /// The code of a frame; `None` for frames that no code runs in.
    #[inline(always)]
    pub(super) fn code(&self, frame: u64) -> Option<u64> {
        // The lowest bits tag references since 3.14.
        let code = word(frame, self.layout.frame_code) & !3;
        (code > 7 && code & 4 == 0 && word(code, 8) == self.code_type).then_some(code)
    }

    /// Where a frame is, as it says so itself: an index or an address.
    #[inline(always)]
    pub(super) fn position(&self, frame: u64) -> u64 {
        match self.layout.position {
            Position::Index(_) => u64::from(half(frame, self.layout.frame_position)),
            Position::Address(_) => word(frame, self.layout.frame_position),
        }
    }

    pub(super) fn instruction(&self, code: u64, position: u64) -> u32 {
        match self.layout.position {
            Position::Index(per_unit) => u32::try_from(position as u32 as i32 / per_unit).unwrap_or(u32::MAX),
            Position::Address(first) => {
                let distance = position.wrapping_sub(code + first) as i64;
                if distance < 0 { u32::MAX } else { u32::try_from(distance / 2).unwrap_or(u32::MAX) }
            }
        }
    }

    /// Whether code is the interpreter's own, run between a class that is called and its `__init__` (3.13 and later). Its
    /// file and its name are one object, and it begins on no line; the interpreter's own tracebacks leave it out, too.
    fn is_of_a_call(&self, code: u64) -> bool {
        let Layout { code_file, code_name, code_first_line, .. } = self.layout;
        word(code, code_file) == word(code, code_name) && half(code, code_first_line) == 0
    }

    /// What tells a code object from another one that lived at the same address before. Since 3.12 each has a number. Before
    /// that its name, file and line table die and are born at the same addresses as well (in a loop of `exec` on 3.8 nearly
    /// always), so what they say is part of it.
    #[inline(always)]
    pub(super) fn identity(&self, code: u64) -> u64 {
        let Layout { code_file, code_title, code_lines, code_first_line, code_version, .. } = self.layout;
        if let Some(version) = code_version {
            return code ^ u64::from(half(code, version)).wrapping_mul(STRIDE);
        }
        let [file, title, lines] = [code_file, code_title, code_lines].map(|offset| word(code, offset));
        let addresses = code ^ file.rotate_left(20) ^ title.rotate_left(40) ^ lines.rotate_left(8);
        let contents =
            text_hash(file).rotate_left(13) ^ text_hash(title) ^ ends_of_bytes(lines).rotate_left(31);
        addresses ^ contents ^ u64::from(half(code, code_first_line)) << 32
    }
}

/// The hash that a `str` object keeps of itself; -1 until somebody asks for it, which for names is when they are made.
#[inline(always)]
fn text_hash(object: u64) -> u64 {
    const HASH: u64 = 24;
    if object == 0 { 0 } else { word(object, HASH) }
}

/// The first and the last bytes of a `bytes` object and its size. It is never smaller than its head and one word.
#[inline(always)]
fn ends_of_bytes(object: u64) -> u64 {
    const SIZE: u64 = 16;
    const DATA: u64 = 32;
    if object == 0 {
        return 0;
    }
    let size = word(object, SIZE);
    word(object, DATA) ^ word(object, DATA - 8 + size.max(8)).rotate_left(23) ^ size.rotate_left(47)
}

impl Thread<'_> {
    pub(super) fn innermost(&self) -> u64 {
        let top = word(self.state, self.known.layout.thread_top);
        match self.known.layout.record_top {
            Some(offset) if top != 0 => word(top, offset),
            _ => top,
        }
    }

    /// A number for the whole stack, 0 when there is no frame, and the innermost frame whose code has loops.
    ///
    /// Each frame is mixed by itself, with its depth in it, and the results are added: no multiplication waits for the one
    /// before it.
    ///
    /// Benchmark: `cargo xtask bench`, Python rows.
    #[inline]
    pub(super) fn hash(&self, looping: &Looping, identities: &mut Identities, samples: &Samples) -> Hashed {
        let mut identities = identities.now(self.known, samples);
        let (mut frame, mut depth) = (self.innermost(), STRIDE);
        let (mut hash, mut loop_frame) = (0u64, 0);
        for _ in 0..MOST_FRAMES {
            if frame == 0 {
                break;
            }
            if let Some(Identity { code, identity }) = identities.of(frame) {
                if loop_frame == 0 && looping.has(code) {
                    loop_frame = frame;
                }
                let place = identity ^ self.known.position(frame).rotate_left(48);
                hash = take_in(hash, place, depth);
            }
            depth = depth.wrapping_add(STRIDE);
            frame = word(frame, self.known.layout.frame_previous);
        }
        Hashed { hash, loop_frame }
    }
}

/// What one look at a stack gives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed {
    /// A number for the whole stack, 0 when there is no frame.
    pub hash: u64,
    /// The innermost frame whose code has loops of the user's; 0 where none has.
    pub loop_frame: u64,
}

impl Walk {
    /// Reads the stack of a thread.
    pub fn read(&mut self, thread: Thread<'_>) {
        let known = thread.known;
        let layout = &known.layout;
        (self.count, self.is_cut) = (0, false);
        let mut record = word(thread.state, layout.thread_record);
        let mut frame = thread.innermost();
        for steps in 0.. {
            if frame == 0 {
                break;
            }
            if steps == MOST_FRAMES {
                self.is_cut = true;
                break;
            }
            match known.code(frame) {
                _ if is_of_c(layout, frame) => self.end_run_at(frame),
                Some(code) if known.is_of_a_call(code) => {}
                Some(code) => {
                    let instruction = known.instruction(code, known.position(frame));
                    let (ends_run, place) = run_end(layout, frame, &mut record);
                    self.frames[self.count] = PythonFrame { code, instruction, ends_run, place };
                    self.count += 1;
                }
                None => {}
            }
            frame = word(frame, layout.frame_previous);
        }
    }

    /// A frame that lies in the C frame of the run inside it.
    fn end_run_at(&mut self, frame: u64) {
        if let Some(last) = self.count.checked_sub(1)
            && !self.frames[last].ends_run
        {
            self.frames[last].ends_run = true;
            self.frames[last].place = frame;
        }
    }

    /// The frames, innermost first.
    pub fn frames(&self) -> &[PythonFrame] {
        &self.frames[..self.count]
    }

    /// Whether outer frames are missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// Whether a frame is the interpreter's own: it marks the C frame that it lies in. In 3.12 it even has a code.
fn is_of_c(layout: &Layout, frame: u64) -> bool {
    layout.runs == Runs::EntryFrame && byte(frame, layout.frame_owner) >= OWNED_BY_C
}

/// Whether a frame is the last of its run, and where that run's record lies.
fn run_end(layout: &Layout, frame: u64, record: &mut u64) -> (bool, u64) {
    let ends = match layout.runs {
        Runs::Single => return (true, 0),
        Runs::SingleRecorded => true,
        Runs::EntryFlag => byte(frame, ENTRY_FLAG) != 0,
        Runs::EntryFrame => false,
    };
    if !ends {
        return (false, 0);
    }
    let place = *record;
    if place != 0 {
        *record = word(place, layout.record_previous);
    }
    (true, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    fn number(places: &[u64]) -> u64 {
        let depths = (1u64..).map(|depth| depth.wrapping_mul(STRIDE));
        places.iter().zip(depths).fold(0, |hash, (&place, depth)| take_in(hash, place, depth))
    }

    #[test]
    fn stacks_of_the_same_few_frames_have_numbers_of_their_own() {
        let (mut stacks, mut all) = (Vec::from([Vec::new()]), HashSet::new());
        for _ in 0..10 {
            let longer = |stack: &Vec<u64>| [1u64, 2, 3 << 48].map(|place| [&stack[..], &[place]].concat());
            stacks = stacks.iter().flat_map(longer).collect();
            assert!(stacks.iter().all(|stack| all.insert(number(stack))));
        }
    }

    #[test]
    fn every_depth_of_a_recursion_has_a_number_of_its_own() {
        let (frames, mut all) = ([0x7f12_3456_7890; MOST_FRAMES], HashSet::new());
        assert!((1..=MOST_FRAMES).all(|depth| all.insert(number(&frames[..depth]))));
    }
}
