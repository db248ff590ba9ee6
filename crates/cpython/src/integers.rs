//! Values of `int`, as far as they fit a wide integer.

use crate::fixed::{int, object};
use crate::layout::Integer;
use crate::memory::ReadMemory;

/// Digits of 30 bits that fit the result.
const MOST_DIGITS: u64 = 4;

impl Integer {
    /// How many digits an `int` has, and whether it is negative, by the word that says both.
    fn digits(self, word: u64) -> (u64, bool) {
        match self {
            Self::Signed => ((word as i64).unsigned_abs(), (word as i64) < 0),
            Self::Tagged { shift, sign_mask, negative } => (word >> shift, word & sign_mask == negative),
        }
    }

    /// The value of an `int` object; `None` where it is larger than four digits.
    pub fn value<M: ReadMemory>(self, memory: &M, object: u64) -> Option<i128> {
        let (digits, is_negative) = self.digits(memory.word(object + object::SIZE)?);
        if digits > MOST_DIGITS {
            return None;
        }
        let mut size = 0i128;
        for digit in (0..digits).rev() {
            let value = memory.half(object + int::DIGITS + 4 * digit)? & ((1 << int::DIGIT_BITS) - 1);
            size = size << int::DIGIT_BITS | i128::from(value);
        }
        Some(if is_negative { -size } else { size })
    }
}
