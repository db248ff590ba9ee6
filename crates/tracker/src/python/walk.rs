//! One walk over the Python frames of the calling thread, from the innermost out.

use heaplens_cpython::Layout;

use super::codes::Looping;
use super::frames::STRIDE;
use super::identities::{Identities, Identity};
use crate::modules::interpreter::Thread;
use crate::modules::memory::{Live, word};
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
    pub address_inside: u64,
}

/// The scratch buffer of one walk.
#[repr(C)]
pub struct Walk {
    count: usize,
    /// How many of them, the innermost, lie inside an import.
    inside_import: usize,
    is_cut: bool,
    frames: [PythonFrame; MOST_FRAMES],
}

/// Mixes a word; a multiplication wide enough that every bit counts.
#[inline(always)]
fn mix(word: u64) -> u64 {
    let product = u128::from(word) * 0xd6e8_feb8_6659_fd93;
    (product as u64) ^ (product >> 64) as u64
}

/// Takes a frame into the number of a stack; `depth` is [`STRIDE`] times its depth.
#[inline(always)]
pub(super) fn take_in(hash: u64, frame: u64, depth: u64) -> u64 {
    hash.rotate_left(7).wrapping_add(mix(frame ^ depth))
}

impl Thread<'_> {
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
                let position = identity ^ self.known.position(frame).rotate_left(48);
                hash = take_in(hash, position, depth);
            }
            depth = depth.wrapping_add(STRIDE);
            frame = word(frame, self.known.layout.frame.previous);
        }
        Hashed { hash, loop_frame }
    }
}

/// What one walk over a stack gives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed {
    /// A number for the whole stack, 0 when there is no frame.
    pub hash: u64,
    /// The innermost frame whose code has loops of the user's; 0 where none has.
    pub loop_frame: u64,
}

impl Walk {
    /// Reads the stack of a thread; `import` is the outermost frame of the import that it is in, 0 where that does not matter.
    pub fn read(&mut self, thread: Thread<'_>, import: u64) {
        let known = thread.known;
        let layout = &known.layout;
        (self.count, self.inside_import, self.is_cut) = (0, 0, false);
        let record = layout.thread.record;
        let mut record = record.and_then(|record| record.innermost_of(&Live, thread.state)).unwrap_or(0);
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
                _ if layout.frame.is_of_c(&Live, frame) => self.end_run_at(frame),
                Some(code) if layout.is_of_a_call(&Live, code) => {}
                Some(code) => {
                    let instruction = known.instruction(code, known.position(frame));
                    let (ends_run, address_inside) = run_end(layout, frame, &mut record);
                    self.frames[self.count] = PythonFrame { code, instruction, ends_run, address_inside };
                    self.count += 1;
                }
                None => {}
            }
            if frame == import {
                self.inside_import = self.count;
            }
            frame = word(frame, layout.frame.previous);
        }
    }

    /// How many frames, the innermost, lie inside the import.
    pub fn inside_import(&self) -> usize {
        self.inside_import
    }

    /// A frame that lies in the C frame of the run inside it.
    fn end_run_at(&mut self, frame: u64) {
        if let Some(last) = self.count.checked_sub(1)
            && !self.frames[last].ends_run
        {
            self.frames[last].ends_run = true;
            self.frames[last].address_inside = frame;
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

/// Whether a frame is the last of its run, and where that run's record lies.
fn run_end(layout: &Layout, frame: u64, record: &mut u64) -> (bool, u64) {
    if !layout.frame.ends_run(&Live, frame) {
        return (false, 0);
    }
    let address = *record;
    if address != 0 {
        let next = layout.thread.record.and_then(|record| record.previous_of(&Live, address));
        *record = next.unwrap_or(0);
    }
    (true, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    fn number(positions: &[u64]) -> u64 {
        let depths = (1u64..).map(|depth| depth.wrapping_mul(STRIDE));
        positions.iter().zip(depths).fold(0, |hash, (&position, depth)| take_in(hash, position, depth))
    }

    #[test]
    fn stacks_of_the_same_few_frames_have_numbers_of_their_own() {
        let (mut stacks, mut all) = (Vec::from([Vec::new()]), HashSet::new());
        for _ in 0..10 {
            let longer =
                |stack: &Vec<u64>| [1u64, 2, 3 << 48].map(|position| [&stack[..], &[position]].concat());
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
