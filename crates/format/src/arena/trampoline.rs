//! The injection trampoline: a thread of the program that stands still makes a system call in the recorder's name and returns to where
//! it was by itself. The code for it and the words for what it returns to are in the agent; the recorder fills in the words.

use crate::atomic::AtomicU64;

/// General registers without the stack pointer: rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
pub const GENERAL_REGISTERS: usize = 15;

/// What the recorder has to know, and what it writes. It is in the process itself.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Trampoline {
    /// Where a `syscall` is after which a thread gets back all that is kept here; a task that the call made ends there.
    pub call_and_return: AtomicU64,
    /// Where a `syscall` is after which a task of ours ends.
    pub call_and_end: AtomicU64,
    /// The first address after that code.
    pub code_end: AtomicU64,
    /// The number of the thread that is on it: 0 for none. Whoever is in the code is, too.
    pub thread: AtomicU64,
    /// The signals that it holds back.
    pub mask: AtomicU64,
    /// Where it goes on.
    pub instruction: AtomicU64,
    /// With these. Its stack pointer is never changed.
    pub registers: [AtomicU64; GENERAL_REGISTERS],
}

/// Words of a [`Trampoline`].
pub const TRAMPOLINE_WORDS: usize = size_of::<Trampoline>() / 8;
