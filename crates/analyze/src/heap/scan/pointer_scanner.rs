//! Words that point to blocks, and what the words beside a pointer say about the block. Many words are looked up at a time, one
//! step of the lookup for all of them before the next: no word waits for another, so the processor fetches many parts of the
//! index at once, and who points to what is asked for when it is in the cache.
//!
//! ```text
//!   words ─▶ numbers of those between the first block and the last ─▶ spots in the index ─▶ blocks near ─▶ targets
//! ```

use std::ops::Range;

use heaplens_format::{Addr, Bytes};

use super::edge::Edge;
use super::links::Payload;
use crate::heap::memory::{BlockId, Blocks, Near, Spot};

/// A word that points to a block.
pub(crate) struct Pointer {
    pub(crate) word: Addr,
    pub(crate) edge: Edge,
    /// What the block is, if the words after this one are those of a header.
    pub(crate) payload: Option<Payload>,
}

/// The pointers among many words. It is used again and again, so that its arrays stay in the cache.
#[derive(Default)]
pub(crate) struct PointerScanner {
    /// Words that may be pointers; the first `count` of these.
    numbers: Vec<u32>,
    count: usize,
    spots: Vec<Spot>,
    /// The block that each of them points to, and where in it.
    targets: Vec<Target>,
    /// Those that point past the beginning of a block, if it reaches so far.
    inside: Vec<u32>,
    /// The first that was not reported, and where the part ended that was reported last.
    next: usize,
    reported: usize,
}

/// A block, and the offset in it; one beyond 4 G counts as 4 G.
#[derive(Clone, Copy)]
struct Target {
    block: u32,
    offset: u32,
}

impl Target {
    const NOTHING: Self = Self { block: u32::MAX, offset: 0 };

    fn new(block: BlockId, offset: Bytes) -> Self {
        Self { block: block.raw(), offset: u32::try_from(offset.get()).unwrap_or(u32::MAX) }
    }

    #[inline]
    fn get(self) -> Option<(BlockId, Bytes)> {
        (self.block != u32::MAX).then(|| (BlockId::new(self.block as usize), Bytes::new(self.offset.into())))
    }
}

impl PointerScanner {
    /// Looks up words, fewer than 4 G of them.
    pub(crate) fn look_up(&mut self, blocks: &Blocks, words: &[[u8; 8]]) {
        self.select(blocks, words);
        let Self { numbers, count, spots, targets, inside, .. } = self;
        let word = |number: u32| address(&words[number as usize]);
        let numbers = &numbers[..*count];
        spots.clear();
        spots.extend(numbers.iter().map(|&number| blocks.spot(word(number))));
        targets.clear();
        inside.clear();
        targets.extend((0..).zip(numbers).zip(&*spots).map(|((at, &number), &spot)| {
            match blocks.near(word(number), spot) {
                Near::Nothing => Target::NOTHING,
                Near::Start(block) => Target::new(block, Bytes::ZERO),
                Near::After(block) => {
                    inside.push(at);
                    Target::new(block, Bytes::ZERO)
                }
            }
        }));
        for &at in &*inside {
            let target = &mut targets[at as usize];
            let word = word(numbers[at as usize]);
            let found = blocks.settle_pointer(word, BlockId::new(target.block as usize));
            let found = found.filter(|&(_, offset)| !is_number(word, offset));
            *target = found.map_or(Target::NOTHING, |(block, offset)| Target::new(block, offset));
        }
        (self.next, self.reported) = (0, 0);
    }

    /// Keeps the words that may be pointers, without a branch: whether a word is one cannot be foreseen.
    fn select(&mut self, blocks: &Blocks, words: &[[u8; 8]]) {
        if self.numbers.len() < words.len() {
            self.numbers.resize(words.len(), 0);
        }
        let mut count = 0;
        for (number, word) in (0..).zip(words) {
            self.numbers[count] = number;
            count += usize::from(blocks.may_hold(address(word)));
        }
        self.count = count;
    }

    /// Reports every word that points to a block, each with its number.
    pub(crate) fn each(&mut self, blocks: &Blocks, words: &[[u8; 8]], report: impl FnMut(usize, Pointer)) {
        self.each_in(blocks, words, 0..words.len(), report);
    }

    /// The same for a part of the words that were looked up; numbers are counted from the part's first. Parts come in the order
    /// of their beginnings.
    #[inline]
    pub(crate) fn each_in(
        &mut self,
        blocks: &Blocks,
        words: &[[u8; 8]],
        part: Range<usize>,
        mut report: impl FnMut(usize, Pointer),
    ) {
        let numbers = &self.numbers[..self.count];
        if part.start < self.reported {
            self.next = numbers.partition_point(|number| (*number as usize) < part.start);
        }
        self.reported = part.end;
        while let Some(&number) = numbers.get(self.next)
            && (number as usize) < part.end
        {
            let at = number as usize;
            if at >= part.start
                && let Some(target) = self.targets[self.next].get()
            {
                report(at - part.start, pointer(blocks, &words[at..part.end], target));
            }
            self.next += 1;
        }
    }
}

/// Bits of a pointer to the start of a block that may say something else.
const TAGS: u64 = 8;

/// Whether what points into the middle of a block is a number and no pointer. A program that is loaded at a fixed address has its heap
/// below 4 GiB, where any number of 32 bits may lead, a hash above all; pointers into the middle are to multiples of four but for
/// those to characters, and a block that nothing else leads to is hardly ever held by such a one.
fn is_number(word: Addr, offset: Bytes) -> bool {
    word.get() < 1 << 32 && offset.get() >= TAGS && !word.get().is_multiple_of(4)
}

/// A word, taken for a pointer.
#[inline]
fn address(word: &[u8; 8]) -> Addr {
    Addr::new(u64::from_le_bytes(*word))
}

/// The first of these words as a pointer.
#[inline]
fn pointer(blocks: &Blocks, words: &[[u8; 8]], (block, offset): (BlockId, Bytes)) -> Pointer {
    let (word, next) = (address(&words[0]), &words[1..]);
    let is_table = matches!(offset.get(), 8 | 16) && is_followed(blocks, next, (block, offset));
    let payload = if offset == Bytes::ZERO { payload(word, || blocks.span(block).end, next) } else { None };
    Pointer { word, edge: Edge::new(block, if is_table { Bytes::ZERO } else { offset }), payload }
}

/// Hash tables of Abseil, which TensorFlow is full of, keep one block with a word or two of their own, control bytes and
/// slots; who has a table has a pointer to the control bytes and after it one to the slots.
fn is_followed(blocks: &Blocks, next: &[[u8; 8]], (block, offset): (BlockId, Bytes)) -> bool {
    let next = next.first().and_then(|word| blocks.find(address(word)));
    next.is_some_and(|(same, farther)| same == block && farther > offset)
}

/// What a block is that the word before these points to. Both headers fit the size of the block to the byte, so chance finds
/// none. (libstdc++'s; a vector that has no element cannot be distinguished from a `std::deque`.)
///
/// ```text
///   vector │ block │ end of elements │ end of block │     string │ block │ length │ size of block - 1 │
/// ```
fn payload(start: Addr, end: impl FnOnce() -> Addr, next: &[[u8; 8]]) -> Option<Payload> {
    /// Shorter strings lie in their header.
    const SHORTEST: u64 = 16;
    /// Longer vectors and strings there are none.
    const LONGEST: u64 = 1 << 40;
    let [first, second, ..] = *next else { return None };
    let (first, second) = (u64::from_le_bytes(first), u64::from_le_bytes(second));
    // Where a block ends is looked up last: of all that is asked here it alone may not be in the cache.
    if first > second {
        None
    } else if start.get() < first && second - start.get() < LONGEST {
        (Addr::new(second) == end()).then_some(Payload::Vector)
    } else if (SHORTEST..LONGEST).contains(&second) {
        (Bytes::new(second + 1) == end() - start).then_some(Payload::String)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload_of(size: u64, words: [u64; 2]) -> Option<Payload> {
        let start = Addr::new(0x7000_0000_1000);
        let end = start + Bytes::new(size);
        payload(start, || end, &words.map(u64::to_le_bytes))
    }

    #[test]
    fn a_header_fits_its_block_to_the_byte() {
        let at = |offset: u64| 0x7000_0000_1000 + offset;
        assert_eq!(payload_of(80, [at(8), at(80)]), Some(Payload::Vector));
        assert_eq!(payload_of(80, [at(80), at(80)]), Some(Payload::Vector), "full");
        assert_eq!(payload_of(80, [at(0), at(80)]), None, "empty");
        assert_eq!(payload_of(80, [at(88), at(80)]), None, "ends after its memory");
        assert_eq!(payload_of(80, [at(8), at(72)]), None, "memory is left over");
        assert_eq!(payload_of(31, [17, 30]), Some(Payload::String));
        assert_eq!(payload_of(31, [31, 30]), None, "longer than its capacity");
        assert_eq!(payload_of(32, [17, 30]), None);
        assert_eq!(payload_of(16, [3, 15]), None, "so short a string has no block");
    }

    /// What the words of a root lead to, in two blocks of the same size below 4 GiB and above.
    #[test]
    fn a_number_below_four_gib_that_no_pointer_would_be_leads_nowhere() {
        use heaplens_snapshot::Block;

        let (low, high) = (0x1723_f510, 0x7000_0000_1000);
        let block = |start: u64| Block { address: Addr::new(start), size: Bytes::new(4096), site: 1 };
        let blocks = Blocks::new(vec![block(low), block(high)]).unwrap();
        let offsets_in = |start: u64| {
            let words = [0, 2, 8, 0x42b, 0x42c].map(|offset| (start + offset).to_le_bytes());
            let (mut scanner, mut found) = (PointerScanner::default(), Vec::new());
            scanner.look_up(&blocks, &words);
            scanner.each(&blocks, &words, |at, _| found.push(at));
            found
        };
        assert_eq!(offsets_in(high), [0, 1, 2, 3, 4]);
        assert_eq!(offsets_in(low), [0, 1, 2, 4]);
    }
}
