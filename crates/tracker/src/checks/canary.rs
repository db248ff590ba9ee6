//! The canary behind a block: bytes that the program did not ask for and may not change. It begins right after the last byte that was asked
//! for, so that no alignment hides an overrun.
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
const WORD: usize = 8;

/// The size to ask the allocator for; `None` where it would be too large for any block.
pub fn padded(size: usize) -> Option<usize> {
    size.max(1)
        .checked_next_multiple_of(LEAST)?
        .checked_add(LEAST)
        .filter(|&whole| whole <= isize::MAX as usize)
}

/// Where the canary of a block begins, from its start. A block of no bytes has one: C++'s operators ask `malloc` for it.
fn start(size: usize) -> usize {
    size.max(1)
}

/// The word of a canary at an address.
#[inline(always)]
fn word(address: usize) -> u64 {
    let mixed = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29) & 0x3f3f_3f3f_3f3f_3f3f | 0x8080_8080_8080_8080
}

/// The bytes of the word at `at` that belong to the canary, which begins at `from`.
#[inline(always)]
fn mask(at: usize, from: usize) -> u64 {
    if at >= from { u64::MAX } else { u64::MAX << ((from - at) * 8) }
}

/// Writes canary into a range that begins at `from`, and ends at a multiple of 8.
///
/// # Safety
/// The range, and the bytes before it from the last multiple of 8 on, are memory that nobody else uses now.
#[inline]
pub unsafe fn write(from: usize, end: usize) {
    for at in (from & !(WORD - 1)..end).step_by(WORD) {
        let mask = mask(at, from);
        // SAFETY: aligned, and as the caller says.
        unsafe {
            let there = at as *mut u64;
            there.write(there.read() & !mask | word(at) & mask);
        }
    }
}

/// The address of the first byte in such a range that is not as it was written.
///
/// # Safety
/// The range can be read, as in [`write()`].
#[inline]
pub unsafe fn first_change(from: usize, end: usize) -> Option<usize> {
    for at in (from & !(WORD - 1)..end).step_by(WORD) {
        // SAFETY: aligned, and as the caller says. Volatile: it is the program's memory, which other threads may write.
        let changed = (unsafe { (at as *const u64).read_volatile() } ^ word(at)) & mask(at, from);
        if changed != 0 {
            return Some(at + changed.trailing_zeros() as usize / 8);
        }
    }
    None
}

/// Puts the canary behind a block.
///
/// # Safety
/// The block begins at a multiple of 8, is [`padded`], and nobody else uses it yet.
#[inline]
pub unsafe fn place(block: usize, size: usize) {
    if let Some(whole) = padded(size) {
        // SAFETY: as the caller says.
        unsafe { write(block + start(size), block + whole) };
    }
}

/// The address of the first byte behind a block that was changed.
///
/// # Safety
/// The block has a canary, and stays while it is read.
#[inline]
pub unsafe fn damage(block: usize, size: usize) -> Option<usize> {
    // SAFETY: as the caller says.
    unsafe { first_change(block + start(size), block + padded(size)?) }
}

/// The same from a copy of the words that hold the canary: of the memory from [`words_of`] on.
pub fn damage_in(copy: &[u8], block: usize, size: usize) -> Option<usize> {
    let (first, from) = (words_of(block, size)?.0, block + start(size));
    copy.iter().enumerate().map(|(index, &byte)| (first + index, byte)).find_map(|(at, byte)| {
        let expected = (word(at & !(WORD - 1)) >> (at % WORD * 8)) as u8;
        (at >= from && byte != expected).then_some(at)
    })
}

/// The words that hold the canary of a block: where they begin, and how many bytes they have, [`MOST`] at most.
pub fn words_of(block: usize, size: usize) -> Option<(usize, usize)> {
    let first = (block + start(size)) & !(WORD - 1);
    Some((first, block + padded(size)? - first))
}

/// The most bytes of the words that hold a canary.
pub const MOST: usize = LEAST * 2;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn memory(size: usize) -> Vec<u128> {
        vec![0x4141_4141_4141_4141_4141_4141_4141_4141; padded(size).unwrap() / 16]
    }

    proptest! {
        #[test]
        fn every_byte_after_a_block_is_watched_and_none_of_it(size in 0usize..200, byte in any::<u8>()) {
            let mut memory = memory(size);
            let block = memory.as_mut_ptr() as usize;
            // SAFETY: the memory is as large as a padded block.
            unsafe {
                place(block, size);
                prop_assert_eq!(damage(block, size), None);
                for offset in 0..padded(size).unwrap() {
                    let at = (block + offset) as *mut u8;
                    let before = at.read();
                    at.write(byte);
                    let expected = (offset >= size.max(1) && before != byte).then_some(block + offset);
                    prop_assert_eq!(damage(block, size), expected);
                    let (first, length) = words_of(block, size).unwrap();
                    prop_assert!(length <= MOST);
                    let copy = core::slice::from_raw_parts(first as *const u8, length);
                    prop_assert_eq!(damage_in(copy, block, size), expected);
                    at.write(before);
                }
                if size > 0 {
                    prop_assert_eq!((block as *const u8).read(), 0x41);
                }
            }
        }
    }

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
    }
}
