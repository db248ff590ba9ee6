//! Writing and checking canaries in the program's own memory. Their bytes, and where they lie, are defined in [`heaplens_format::canary`].

use heaplens_format::canary::{WORD, mask, padded, start, word};

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

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::canary::{MOST, damage_in, words_of};
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
}
