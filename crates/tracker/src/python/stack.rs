//! The stack that the instructions of a frame work on: where the iterators of its running loops lie.
//!
//! How high the stack is at this moment is kept in a register of the interpreter. The iterators of the loops that an instruction
//! is in lie at its bottom and stay there while the loops run, an outer one below an inner one.

use super::Known;
use super::iterators::Kind;
use super::layout::Stack;
use super::walk::{half, word};

/// More objects below an iterator than any expression leaves there.
const HIGHEST: u32 = 64;

impl Known {
    /// The iterator of a loop with so many other `for` loops around it in the same code; `None` where there is no such one.
    pub(super) fn iterator(&self, frame: u64, code: u64, around: usize) -> Option<Kind> {
        let bottom = self.bottom(frame, code);
        let height = half(code, self.layout.code_stack_size).min(HIGHEST);
        let slots = (0..u64::from(height)).map(|slot| word(bottom, slot * 8) & !3);
        let objects = slots.filter(|&object| object != 0).map(|object| self.types.kind(object));
        objects.filter(|kind| !matches!(kind, Kind::Other)).nth(around)
    }

    fn bottom(&self, frame: u64, code: u64) -> u64 {
        match self.layout.stack {
            Stack::Behind(offset) => word(frame, offset),
            Stack::Inside { variables, count } => frame + variables + u64::from(half(code, count)) * 8,
        }
    }
}
