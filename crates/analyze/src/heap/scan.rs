//! Words that point to blocks, and what the words beside a pointer say about the block.

use super::blocks::{BlockId, Blocks, Near};
use super::edge::Edge;
use super::roots::Payload;

/// A word that points to a block.
pub(super) struct Pointer {
    pub(super) word: u64,
    pub(super) edge: Edge,
    /// What the block is, if the words behind this one are those of a header.
    pub(super) payload: Option<Payload>,
}

/// Words that are looked up together.
const BATCH: usize = 32;

/// Tells of every word that points to a block, each with its number. Words are sorted out without a branch, and the rest is
/// looked up in a loop that waits for none of them: the processor then fetches many parts of the index at once.
#[inline]
pub(super) fn pointers(blocks: &Blocks, words: &[[u8; 8]], mut tell: impl FnMut(usize, Pointer)) {
    for (first, batch) in (0..).step_by(BATCH).zip(words.chunks(BATCH)) {
        let (mut found, mut count) = ([0u8; BATCH], 0);
        for (number, word) in batch.iter().enumerate() {
            found[count] = number as u8;
            count += usize::from(blocks.may_hold(u64::from_le_bytes(*word)));
        }
        let mut near = [Near::Nothing; BATCH];
        for (near, &number) in near.iter_mut().zip(&found[..count]) {
            *near = blocks.near(u64::from_le_bytes(batch[usize::from(number)]));
        }
        for (&near, &number) in near.iter().zip(&found[..count]) {
            let at = first + usize::from(number);
            if let Some(pointer) = pointer(blocks, words, at, near) {
                tell(at, pointer);
            }
        }
    }
}

#[inline]
fn pointer(blocks: &Blocks, words: &[[u8; 8]], at: usize, near: Near) -> Option<Pointer> {
    let word = u64::from_le_bytes(words[at]);
    let (block, offset) = blocks.settle(word, near)?;
    let behind = &words[at + 1..];
    let is_table = matches!(offset, 8 | 16) && is_followed(blocks, behind, (block, offset));
    let payload = if offset == 0 { payload(word, || blocks.range(block).1, behind) } else { None };
    Some(Pointer { word, edge: Edge::new(block, if is_table { 0 } else { offset }), payload })
}

/// Hash tables of Abseil, which TensorFlow is full of, keep one block with a word or two of their own, control bytes and
/// slots; who has a table has a pointer to the control bytes and behind it one to the slots.
fn is_followed(blocks: &Blocks, behind: &[[u8; 8]], (block, offset): (BlockId, u64)) -> bool {
    let next = behind.first().and_then(|word| blocks.find(u64::from_le_bytes(*word)));
    next.is_some_and(|(same, farther)| same == block && farther > offset)
}

/// What a block is that the word before these points to. Both headers fit the size of the block to the byte, so chance finds
/// none. (libstdc++'s; a vector that has no element cannot be told from a `std::deque`.)
///
/// ```text
///   vector │ block │ end of elements │ end of block │     string │ block │ length │ size of block - 1 │
/// ```
fn payload(start: u64, end: impl FnOnce() -> u64, behind: &[[u8; 8]]) -> Option<Payload> {
    /// Shorter strings lie in their header.
    const SHORTEST: u64 = 16;
    /// Longer vectors and strings there are none.
    const LONGEST: u64 = 1 << 40;
    let [first, second, ..] = *behind else { return None };
    let (first, second) = (u64::from_le_bytes(first), u64::from_le_bytes(second));
    // Where a block ends is looked up last: of all that is asked here it alone may not be in the cache.
    if first > second {
        None
    } else if start < first && second - start < LONGEST {
        (second == end()).then_some(Payload::Vector)
    } else if (SHORTEST..LONGEST).contains(&second) {
        (second + 1 == end() - start).then_some(Payload::String)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(size: u64, words: [u64; 2]) -> Option<Payload> {
        let end = 0x7000_0000_1000 + size;
        payload(0x7000_0000_1000, || end, &words.map(u64::to_le_bytes))
    }

    #[test]
    fn a_header_fits_its_block_to_the_byte() {
        let at = |offset: u64| 0x7000_0000_1000 + offset;
        assert_eq!(told(80, [at(8), at(80)]), Some(Payload::Vector));
        assert_eq!(told(80, [at(80), at(80)]), Some(Payload::Vector), "full");
        assert_eq!(told(80, [at(0), at(80)]), None, "empty");
        assert_eq!(told(80, [at(88), at(80)]), None, "ends behind its memory");
        assert_eq!(told(80, [at(8), at(72)]), None, "memory is left over");
        assert_eq!(told(31, [17, 30]), Some(Payload::String));
        assert_eq!(told(31, [31, 30]), None, "longer than there is room");
        assert_eq!(told(32, [17, 30]), None);
        assert_eq!(told(16, [3, 15]), None, "so short a string has no block");
    }
}
