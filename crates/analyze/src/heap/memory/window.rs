//! BlockReader much of foreign memory in order.

use heaplens_format::Addr;
use heaplens_snapshot::{ReadMemory, Span};

/// The most that is read at a time: with what is found in it, it stays in the second-level cache.
pub(crate) const WINDOW: u64 = 1 << 18;

/// A part of foreign memory that was read.
pub(crate) struct ReadWindow<'a, M> {
    memory: &'a M,
    buffer: Vec<u8>,
}

impl<'a, M: ReadMemory> ReadWindow<'a, M> {
    pub(crate) fn new(memory: &'a M) -> Self {
        Self { memory, buffer: vec![0; WINDOW as usize] }
    }

    /// Visits the words of a range, piece by piece, each with its address. What cannot be read is left out.
    pub(crate) fn each_piece(&mut self, range: Span, mut visit: impl FnMut(Addr, &[[u8; 8]])) {
        let (mut at, end) = (range.start.get().next_multiple_of(8), range.end.get());
        while at + 8 <= end {
            let length = (end - at).min(WINDOW) as usize;
            let filled = self.memory.read(at, &mut self.buffer[..length]).min(length);
            let (words, _) = self.buffer[..filled].as_chunks::<8>();
            if words.is_empty() {
                return;
            }
            visit(Addr::new(at), words);
            at += 8 * words.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::synthetic::Numbered;

    fn words_of(memory: &Numbered, ranges: &[(u64, u64)]) -> Vec<u64> {
        let (mut window, mut seen) = (ReadWindow::new(memory), Vec::new());
        for &(start, end) in ranges {
            window.each_piece(Span::new(Addr::new(start), Addr::new(end)), |address, words| {
                for (at, word) in (address.get()..).step_by(8).zip(words) {
                    assert_eq!(u64::from_le_bytes(*word), at);
                    seen.push(at);
                }
            });
        }
        seen
    }

    #[test]
    fn only_whole_words_of_a_range_count() {
        let memory = Numbered::up_to(1 << 30);
        assert_eq!(words_of(&memory, &[(64, 80), (84, 100), (104, 112)]), [64, 72, 88, 104]);
    }

    #[test]
    fn what_is_larger_than_the_window_comes_in_pieces() {
        let memory = Numbered::up_to(1 << 30);
        let seen = words_of(&memory, &[(8, 3 * WINDOW)]);
        assert_eq!(seen.len() as u64, 3 * WINDOW / 8 - 1);
        assert_eq!(memory.calls(), 3);
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_words() {
        let memory = Numbered::up_to(4096);
        assert_eq!(words_of(&memory, &[(4080, 8192), (16_384, 16_400)]), [4080, 4088]);
    }
}
