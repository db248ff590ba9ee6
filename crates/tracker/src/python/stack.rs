//! The stack that the instructions of a frame work on: where the iterators of its running loops lie.
//!
//! How high the stack is at this moment is kept in a register of the interpreter. But the iterators of the loops that an
//! instruction is in lie at its bottom and stay there while the loops run, so that a look from the bottom up to the last of
//! them sees nothing but objects that the frame keeps alive.

use super::Known;
use super::layout::Stack;
use super::walk::word;

/// In a type: the function that takes the next item.
const NEXT: u64 = 224;
/// More objects below an iterator than any expression leaves there.
const HIGHEST: u64 = 64;

impl Known {
    /// Where the stack of a frame has the iterator of a loop with so many other `for` loops around it in the same code.
    pub(super) fn iterator_slot(&self, frame: u64, code: u64, around: usize) -> Option<u64> {
        let bottom = self.bottom(frame, code);
        let slots = (0..HIGHEST).map(|slot| bottom + slot * 8);
        slots.filter(|&slot| is_iterator(word(slot, 0) & !3)).nth(around)
    }

    fn bottom(&self, frame: u64, code: u64) -> u64 {
        match self.layout.stack {
            Stack::Behind(offset) => word(frame, offset),
            Stack::Inside { variables, count } => {
                // SAFETY: a field of a code object that the frame keeps alive.
                let count = unsafe { ((code + count) as *const u32).read() };
                frame + variables + u64::from(count) * 8
            }
        }
    }
}

fn is_iterator(object: u64) -> bool {
    object != 0 && word(word(object, 8), NEXT) != 0
}
