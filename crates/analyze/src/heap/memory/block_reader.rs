//! The memory of all blocks in the order of their addresses, a window at a time: blocks that lie close together are read in
//! one call.

use std::ops::Range;

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{ReadMemory, Span};

use super::block_id::BlockId;
use super::blocks::Blocks;
use super::window::WINDOW;

/// Blocks that are no farther apart are read together.
const NEAR: u64 = 4096;

/// A block in the window, or a part of a block that is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) block: BlockId,
    /// Whether it begins with the block's first byte. A block that begins between two words has no such piece.
    pub(crate) is_first: bool,
    /// Among the words of the window.
    first: u32,
    end: u32,
}

impl Piece {
    pub(crate) fn words(&self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// Where the reading has come to.
pub(crate) struct BlockReader<'a, M> {
    memory: &'a M,
    buffer: Vec<u8>,
    /// What the window holds: from where on, and how many bytes.
    start: Addr,
    filled: usize,
    pieces: Vec<Piece>,
    /// The block that comes next, and how much of it was read.
    next: usize,
    done: Bytes,
    /// Where the blocks close after it end.
    near: Addr,
}

impl<'a, M: ReadMemory> BlockReader<'a, M> {
    pub(crate) fn new(memory: &'a M) -> Self {
        Self {
            memory,
            buffer: vec![0; WINDOW as usize],
            start: Addr::default(),
            filled: 0,
            pieces: Vec::new(),
            next: 0,
            done: Bytes::ZERO,
            near: Addr::default(),
        }
    }

    /// Reads the next blocks; false when there is none left. Of a block that cannot be read to its end the rest is left out.
    pub(crate) fn next(&mut self, blocks: &Blocks) -> bool {
        self.pieces.clear();
        while self.pieces.is_empty() && self.next < blocks.len() {
            self.begin(blocks);
            while self.pieces.last().is_some() && self.next < blocks.len() && self.add(blocks) {}
        }
        !self.pieces.is_empty()
    }

    pub(crate) fn words(&self) -> &[[u8; 8]] {
        self.buffer[..self.filled].as_chunks().0
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Fills the window from the next block on, and takes as much of this block as is there.
    fn begin(&mut self, blocks: &Blocks) {
        let block = BlockId::new(self.next);
        let Span { start, end } = blocks.span(block);
        let from = Addr::new(start.get().next_multiple_of(8).saturating_add(self.done.get()));
        if from.get().saturating_add(8) > end.get() {
            return self.go_on();
        }
        if self.near < end {
            self.near = end_of_run(blocks, block);
        }
        self.fill(Span::new(from, self.near.max(end)));
        let wanted = (end - from).get() / 8;
        let there = wanted.min(self.filled as u64 / 8);
        if there == 0 {
            return self.go_on();
        }
        self.pieces.push(Piece { block, is_first: from == start, first: 0, end: there as u32 });
        if there == wanted {
            self.go_on();
        } else {
            // The window ends with it: what follows is no part of the words that were looked up.
            self.done += Bytes::new(8 * there);
        }
    }

    /// Takes the next block if the window holds all of it.
    fn add(&mut self, blocks: &Blocks) -> bool {
        let block = BlockId::new(self.next);
        let (span, is_begun) = (blocks.span(block), self.done > Bytes::ZERO);
        let (from, end) = (span.start.get().next_multiple_of(8), span.end.get());
        if from.saturating_add(8) > end && !is_begun {
            self.go_on();
            return true;
        }
        let (window, last) = (self.start.get(), self.start.get() + self.filled as u64);
        if is_begun || from < window || from.saturating_add((end - from) / 8 * 8) > last {
            return false;
        }
        let first = (from - window) as u32 / 8;
        let count = ((end - from) / 8) as u32;
        self.pieces.push(Piece { block, is_first: from == span.start.get(), first, end: first + count });
        self.go_on();
        true
    }

    fn go_on(&mut self) {
        self.next += 1;
        self.done = Bytes::ZERO;
    }

    fn fill(&mut self, wanted: Span) {
        let length = wanted.length().get().min(WINDOW) as usize;
        self.start = wanted.start;
        self.filled = self.memory.read(wanted.start.get(), &mut self.buffer[..length]).min(length);
    }
}

/// Where the blocks that lie close after a block end.
fn end_of_run(blocks: &Blocks, from: BlockId) -> Addr {
    let mut run = blocks.span(from);
    for number in from.index() + 1..blocks.len() {
        let next = blocks.span(BlockId::new(number));
        let near = run.end.get().saturating_add(NEAR);
        if next.start.get() > near || run.length().get() > 4 * WINDOW {
            break;
        }
        run.end = run.end.max(next.end);
    }
    run.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::synthetic::Numbered;
    use heaplens_snapshot::Block;

    /// What is read of blocks at (address, size): for each piece the block, whether it is its first, first word and count.
    fn read(blocks: &[(u64, u64)], end: u64) -> (Vec<(usize, bool, u64, usize)>, u32) {
        let memory = Numbered::up_to(end);
        let block =
            |&(at, size): &(u64, u64)| Block { address: Addr::new(at), size: Bytes::new(size), site: 0 };
        let blocks = Blocks::new(blocks.iter().map(block).collect()).unwrap();
        let (mut reading, mut seen) = (BlockReader::new(&memory), Vec::new());
        while reading.next(&blocks) {
            for piece in reading.pieces() {
                let words = &reading.words()[piece.words()];
                let first = u64::from_le_bytes(words[0]);
                let are_next = |(at, word): (u64, &[u8; 8])| u64::from_le_bytes(*word) == at;
                assert!((first..).step_by(8).zip(words).all(are_next));
                seen.push((piece.block.index(), piece.is_first, first, words.len()));
            }
        }
        (seen, memory.calls())
    }

    const ALL: u64 = 1 << 40;

    #[test]
    fn neighbours_are_read_in_one_call_and_only_their_own_words_count() {
        let (seen, calls) = read(&[(64, 16), (84, 16), (100, 4), (104, 8)], ALL);
        assert_eq!(seen, [(0, true, 64, 2), (1, false, 88, 1), (3, true, 104, 1)]);
        assert_eq!(calls, 1);
    }

    #[test]
    fn what_is_far_away_is_read_by_itself() {
        let (seen, calls) = read(&[(64, 16), (1 << 20, 16)], ALL);
        assert_eq!((seen.len(), calls), (2, 2));
    }

    #[test]
    fn what_is_larger_than_the_window_comes_in_pieces() {
        let words = (WINDOW / 8) as usize;
        let (seen, _) = read(&[(8, 2 * WINDOW + 16), (2 * WINDOW + 24, 8)], ALL);
        let large = [(0, true, 8, words), (0, false, 8 + WINDOW, words), (0, false, 8 + 2 * WINDOW, 2)];
        assert_eq!(seen[..3], large);
        assert_eq!(seen[3..], [(1, true, 2 * WINDOW + 24, 1)]);
    }

    #[test]
    fn a_block_that_the_window_cuts_is_read_again_as_a_whole() {
        let (seen, calls) = read(&[(8, WINDOW - 64), (WINDOW - 48, 80), (WINDOW + 40, 8)], ALL);
        let whole = [(0, true, 8, 32_760), (1, true, WINDOW - 48, 10), (2, true, WINDOW + 40, 1)];
        assert_eq!((&seen[..], calls), (&whole[..], 2));
    }

    #[test]
    fn a_block_inside_another_is_read_too() {
        let (seen, _) = read(&[(8, 2 * WINDOW), (16, 8), (24, 8)], ALL);
        assert_eq!(seen[2..], [(1, true, 16, 1), (2, true, 24, 1)]);
        let (seen, _) = read(&[(8, 64), (16, 8)], ALL);
        assert_eq!(seen, [(0, true, 8, 8), (1, true, 16, 1)]);
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_words() {
        let (seen, _) = read(&[(4080, 4112), (16_384, 16), (32_768, 0)], 4096);
        assert_eq!(seen, [(0, true, 4080, 2)]);
    }
}
