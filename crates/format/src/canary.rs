//! The canary behind a block: bytes that the program did not ask for and may not change. It begins right after the last byte that was asked
//! for, so that no alignment hides an overrun. The agent writes and checks it, the recorder checks it in copies of the process.
//!
//! ```text
//!   │ the block, as large as it was asked for │ canary, to the next multiple of 16 │ 16 more │
//!   ▲ address                                 ▲ address + size                                ▲ address + padded(size)
//! ```
//!
//! Its bytes depend on their address, so that a canary that is copied along with its block is no canary elsewhere. They are between 0x80 and
//! 0xbf: what programs most often write too far, a zero or a letter, never looks like one.

/// The least number of bytes of a canary.
const LEAST: usize = 16;
/// Bytes are written and compared by words of so many.
pub const WORD: usize = 8;
/// The most bytes of the words that hold a canary.
pub const MOST: usize = LEAST * 2;

/// The size to ask the allocator for; `None` where it would be too large for any block.
#[inline(always)]
pub fn padded(size: usize) -> Option<usize> {
    size.max(1)
        .checked_next_multiple_of(LEAST)?
        .checked_add(LEAST)
        .filter(|&whole| whole <= isize::MAX as usize)
}

/// Where the canary of a block begins, from its start. A block of no bytes has one: C++'s operators ask `malloc` for it.
#[inline(always)]
pub fn start(size: usize) -> usize {
    size.max(1)
}

/// The word of a canary at an address.
#[inline(always)]
pub fn word(address: usize) -> u64 {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29) & 0x3f3f_3f3f_3f3f_3f3f | 0x8080_8080_8080_8080
}

/// The bytes of the word at `at` that belong to the canary, which begins at `from`.
#[inline(always)]
pub fn mask(at: usize, from: usize) -> u64 {
    if at >= from { u64::MAX } else { u64::MAX << ((from - at) * 8) }
}

/// The words that hold the canary of a block: where they begin, and how many bytes they have, [`MOST`] at most. `None` where no memory has
/// such a block.
pub fn words_of(block: usize, size: usize) -> Option<(usize, usize)> {
    let first = block.checked_add(start(size))? & !(WORD - 1);
    let end = block.checked_add(padded(size)?)?;
    Some((first, end.checked_sub(first)?))
}

/// The address of the first byte behind a block that was changed, from a copy of the memory from [`words_of`] on.
pub fn damage_in(copy: &[u8], block: usize, size: usize) -> Option<usize> {
    let (first, from) = (words_of(block, size)?.0, block + start(size));
    copy.iter().enumerate().map(|(index, &byte)| (first + index, byte)).find_map(|(at, byte)| {
        let expected = (word(at & !(WORD - 1)) >> (at % WORD * 8)) as u8;
        (at >= from && byte != expected).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_a_letter_and_a_canary_of_another_block_are_no_canary() {
        for byte in [0u8, b'a', b'~', 0xff] {
            assert!((0..4096).step_by(8).all(|at| !word(at).to_le_bytes().contains(&byte)));
        }
        assert!((16..4096).step_by(8).all(|at| word(at) != word(at + 16)));
    }

    #[test]
    fn a_size_that_no_block_has_is_refused() {
        assert_eq!(padded(usize::MAX), None);
        assert_eq!(padded(isize::MAX as usize), None);
        assert_eq!((padded(0), padded(16), padded(17)), (Some(32), Some(32), Some(48)));
        assert_eq!(words_of(usize::MAX - 15, 16), None);
    }
}
