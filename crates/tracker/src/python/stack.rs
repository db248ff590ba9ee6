//! The variables of a frame, and the stack that its instructions work on: where the iterators of its running loops lie.
//!
//! How high the stack is at this moment is kept in a register of the interpreter. The iterators of the loops that an instruction
//! is in lie at its bottom and stay there while the loops run, an outer one below an inner one. While an exception empties that
//! stack, objects that were on it may be gone already and nothing shows it: hence they are read by way of the kernel.

use heaplens_cpython::iterators::Kind;

use crate::modules::interpreter::Known;
use crate::modules::memory::{Checked, Live, half, word};

/// More objects below an iterator than any expression leaves there.
const HIGHEST: u32 = 64;
/// Variables of a frame that are compared.
const MOST_VARIABLES: u64 = 32;

/// To spread the bits of a word.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Known {
    /// The iterator of a loop with so many other `for` loops around it in the same code; `None` where there is no such one.
    pub(super) fn iterator(&self, frame: u64, code: u64, around: usize) -> Option<Kind> {
        let variables = self.layout.code.nlocalsplus.map_or(0, |count| half(code, count));
        let bottom = self.layout.stack_of_frame(&Live, frame, variables.into())?;
        let height = half(code, self.layout.code.stacksize).min(HIGHEST);
        let slots =
            (0..u64::from(height)).filter_map(|slot| self.layout.frame.object(word(bottom, slot * 8)));
        let objects = slots.filter(|&object| object != 0).map(|object| self.types.kind(&Checked, object));
        objects.filter(|kind| !matches!(kind, Kind::Other)).nth(around)
    }

    /// A number for the variables of a running frame: another one when the frame has assigned to one of them since.
    pub(super) fn variables(&self, frame: u64, code: u64) -> u64 {
        let first = frame + self.layout.frame.variables;
        let count = self.layout.code.nlocalsplus.map_or(0, |count| half(code, count));
        let end = self.layout.stack_of_frame(&Live, frame, count.into()).unwrap_or(first);
        let count = (end.saturating_sub(first) / 8).min(MOST_VARIABLES);
        (0..count).fold(count, |sum, at| (sum.rotate_left(7) ^ word(first, at * 8)).wrapping_mul(ODD))
    }
}
