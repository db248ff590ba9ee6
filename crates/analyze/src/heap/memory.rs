//! Foreign memory, and reading much of it in order.

/// The most that is read at a time: it stays in the second-level cache.
const WINDOW: u64 = 1 << 20;

/// Memory of a process that stands still while it is read.
pub trait ReadMemory {
    /// Fills `into` with what lies at `address`, as far as it can be read from there on; tells how many bytes that is.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;
}

/// A part of foreign memory at hand. Ranges that are asked for in the order of their addresses are read in few calls.
pub(super) struct Window<'a, M> {
    memory: &'a M,
    buffer: Vec<u8>,
    start: u64,
    filled: usize,
}

impl<'a, M: ReadMemory> Window<'a, M> {
    pub(super) fn new(memory: &'a M) -> Self {
        Self { memory, buffer: vec![0; WINDOW as usize], start: 0, filled: 0 }
    }

    /// Tells of the words of a range, piece by piece, each with its address. `near` is the end of what will be asked for next
    /// without a gap. What cannot be read is left out.
    pub(super) fn each_piece(
        &mut self,
        start: u64,
        end: u64,
        near: u64,
        mut tell: impl FnMut(u64, &[[u8; 8]]),
    ) {
        let mut at = start.next_multiple_of(8);
        while at + 8 <= end {
            if !self.holds(at, end.min(at + WINDOW)) {
                self.fill(at, near.max(end));
            }
            let from = (at - self.start) as usize;
            let to = self.filled.min((end - self.start) as usize);
            let (words, _) = self.buffer[from..to.max(from)].as_chunks::<8>();
            if words.is_empty() {
                return;
            }
            tell(at, words);
            at += 8 * words.len() as u64;
        }
    }

    fn holds(&self, start: u64, end: u64) -> bool {
        self.start <= start && end <= self.start + self.filled as u64
    }

    fn fill(&mut self, start: u64, near: u64) {
        let length = (near - start).min(WINDOW) as usize;
        self.start = start;
        self.filled = self.memory.read(start, &mut self.buffer[..length]).min(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Every byte is the low byte of its address; nothing can be read from `end` on.
    struct Numbered {
        end: u64,
        calls: Cell<u32>,
    }

    impl ReadMemory for Numbered {
        fn read(&self, address: u64, into: &mut [u8]) -> usize {
            self.calls.set(self.calls.get() + 1);
            let there = self.end.saturating_sub(address).min(into.len() as u64) as usize;
            for (at, byte) in (address..).zip(&mut into[..there]) {
                *byte = at as u8;
            }
            there
        }
    }

    fn words_of(memory: &Numbered, ranges: &[(u64, u64)], near: u64) -> Vec<u64> {
        let (mut window, mut seen) = (Window::new(memory), Vec::new());
        for &(start, end) in ranges {
            window.each_piece(start, end, near, |address, words| {
                for (at, word) in (address..).step_by(8).zip(words) {
                    assert_eq!(*word, std::array::from_fn(|byte| (at + byte as u64) as u8));
                    seen.push(at);
                }
            });
        }
        seen
    }

    #[test]
    fn words_of_neighbours_are_read_in_one_call() {
        let memory = Numbered { end: 1 << 30, calls: Cell::new(0) };
        assert_eq!(words_of(&memory, &[(64, 80), (84, 100), (104, 112)], 112), [64, 72, 88, 104]);
        assert_eq!(memory.calls.get(), 1);
    }

    #[test]
    fn what_is_larger_than_the_window_comes_in_pieces() {
        let memory = Numbered { end: 1 << 30, calls: Cell::new(0) };
        let seen = words_of(&memory, &[(8, 3 * WINDOW)], 0);
        assert_eq!(seen.len() as u64, 3 * WINDOW / 8 - 1);
        assert_eq!(memory.calls.get(), 3);
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_words() {
        let memory = Numbered { end: 4096, calls: Cell::new(0) };
        assert_eq!(words_of(&memory, &[(4080, 8192), (16_384, 16_400)], 0), [4080, 4088]);
    }
}
