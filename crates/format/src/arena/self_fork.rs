//! A self-forked snapshot: where nobody may stop a program from the outside, a thread of it forks a copy of the process, and the
//! copy serves its memory itself where nobody may read it. The words by which the recorder requests the copy, and asks it.
//!
//! ```text
//!   recorder: file for the answers, locked ─▶ wanted ─▶ … ─▶ made ─▶ [address, length, asked ─▶ … ─▶ answered, count, bytes in the file]* ─▶ unlocks
//!   program:                                    └─▶ an allocation sees it and forks the copy
//! ```

use crate::atomic::{AtomicU32, AtomicU64};

/// After the path of an arena: the file for the answers. Its lock is held by whoever asks, for as long as it lives.
pub const SELF_FORK_SUFFIX: &str = ".self-fork";
/// The most bytes of one answer.
pub const MOST_BYTES: u64 = 1 << 20;
/// The most addresses of one question.
pub const MOST_ADDRESSES: usize = 256;

/// In the header of an arena.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SelfFork {
    /// How many are wanted, counted from the start: written from outside.
    pub wanted: AtomicU32,
    /// The last that was begun, by its number among those.
    pub begun: AtomicU32,
    /// The last that was made, or could not be: woken.
    pub made: AtomicU32,
    /// Why it was not, as `errno`; 0 when it was.
    pub error: AtomicU32,
    /// The copy's process.
    pub process: AtomicU32,
    /// The thread that made it.
    pub thread: AtomicU32,
    /// Questions that were put, counted from the start: written from outside, and woken.
    pub asked: AtomicU32,
    /// Those that were answered: woken.
    pub answered: AtomicU32,
    /// How many addresses the request has, which are in the file after [`MOST_BYTES`]; 0: one, in the next word.
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
