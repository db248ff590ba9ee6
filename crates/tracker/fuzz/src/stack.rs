//! Memory that a walker takes for a stack: two pages of words between pages that nobody may touch, so that a read outside
//! the bounds ends the fuzzer.

use std::sync::OnceLock;

use heaplens_tracker::sys;

const LENGTH: usize = 8192;
/// More than the words of the targets can point away from the stack.
const GUARD: usize = 1 << 20;

/// The words that a stack has.
pub const WORDS: usize = LENGTH / 8;

/// The stack.
#[derive(Debug)]
pub struct Stack {
    base: usize,
}

impl Stack {
    /// The only one: its address is the same for every input of a run.
    pub fn get() -> &'static Self {
        static STACK: OnceLock<Stack> = OnceLock::new();
        STACK.get_or_init(|| {
            let pages = sys::private_pages(GUARD + LENGTH + GUARD).expect("two MiB can be mapped");
            for guard in [pages, pages + GUARD + LENGTH] {
                sys::protect(guard, GUARD, 0).expect("pages of our own can be locked");
            }
            Self { base: pages + GUARD }
        })
    }

    /// The address of a word; numbers outside the stack have one, too.
    pub fn address(&self, index: i64) -> u64 {
        (self.base as u64).wrapping_add_signed(index * 8)
    }

    /// The first address after it.
    pub fn end(&self) -> u64 {
        self.address(WORDS as i64)
    }

    /// Whether a word lies in it.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.base as u64) <= (LENGTH - 8) as u64
    }

    /// Sets a word; one outside is left alone.
    pub fn put(&self, index: usize, value: u64) {
        if index < WORDS {
            // SAFETY: inside the pages that were mapped; the fuzzer has one thread, and nobody holds a reference.
            unsafe { (self.base as *mut u64).add(index).write_volatile(value) };
        }
    }

    /// Whoever calls leaves a return address: the word at rsp is not zero.
    pub fn put_if_zero(&self, index: usize, value: u64) {
        // SAFETY: as in `put`.
        if index < WORDS && unsafe { (self.base as *const u64).add(index).read_volatile() } == 0 {
            self.put(index, value);
        }
    }

    /// Sets all words: the given ones from `index` on, zero elsewhere.
    pub fn fill(&self, index: usize, values: impl Iterator<Item = u64>) {
        (0..WORDS).for_each(|at| self.put(at, 0));
        values.take(WORDS).enumerate().for_each(|(at, value)| self.put(index + at, value));
    }
}
