//! A twin: an image of a program that its own thread makes where nobody may stop it from the outside, and that tells of its memory
//! itself where nobody may read it. The words by which the recorder asks for it, and asks it.
//!
//! ```text
//!   recorder: file for the answers, locked ─▶ wanted ─▶ … ─▶ ready ─▶ [address, length, asked ─▶ … ─▶ answered, count, bytes in the file]* ─▶ unlocks
//!   program:                                    └─▶ an allocation sees it, the twin is made
//! ```

use crate::atomic::{AtomicU32, AtomicU64};

/// Behind the path of an arena: the file for the answers. Its lock is held by whoever asks, for as long as it lives.
pub const TWIN_SUFFIX: &str = ".twin";
/// The most bytes of one answer.
pub const MOST_BYTES: u64 = 1 << 20;
/// The most addresses of one question.
pub const MOST_ADDRESSES: usize = 256;

/// In the header of an arena.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Twin {
    /// How many are wanted, counted from the start: written from outside.
    pub wanted: AtomicU32,
    /// The last that was begun, by its number among those.
    pub begun: AtomicU32,
    /// The last that was made, or could not be: woken.
    pub made: AtomicU32,
    /// Why it was not, as `errno`; 0 when it was.
    pub error: AtomicU32,
    /// The twin's process.
    pub process: AtomicU32,
    /// The thread that made it.
    pub thread: AtomicU32,
    /// Questions that were put, counted from the start: written from outside, and woken.
    pub asked: AtomicU32,
    /// Those that were answered: woken.
    pub answered: AtomicU32,
    /// How many addresses the question has, which are in the file behind [`MOST_BYTES`]; 0: one, in the next word.
    pub addresses: AtomicU32,
    /// Where is read.
    pub address: AtomicU64,
    /// How many bytes, from each address.
    pub length: AtomicU64,
    /// How many of them the file has now.
    pub count: AtomicU64,
    /// How long the thread was held up, in nanoseconds.
    pub pause_ns: AtomicU64,
    /// Where its stack began.
    pub stack: AtomicU64,
}
