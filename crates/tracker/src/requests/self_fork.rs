//! A self-forked snapshot, made when the recorder requests one because it may not stop threads: see
//! [`heaplens_format::arena::self_fork`]. `fork` copies all memory in one moment, whatever other threads do; only what they have in
//! registers is missing.
//!
//! ```text
//!   a thread in a hook ──▶ helper (its memory, no signal for its end) ──▶ copy: answers, and ends with whoever asks
//!        waits (vfork)  ◀──── ends, is reaped                                falls to the recorder as an orphan
//! ```
//!
//! So the program has no child, no signal and no zombie of it, and no handler of `fork` runs. The copy makes system calls and nothing
//! else: it holds no file of the program open and never touches a page by itself that it is asked about. The kernel does, and says
//! where there is none.

use core::arch::naked_asm;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::self_fork::SelfFork;

use super::serve::serve;
use crate::sys::{self, syscall};
use crate::thread::guard::Guard;
use crate::tracker::{Tracker, tracker};

/// The helper's stack, of which the copy has a copy.
const STACK: usize = 32 << 10;

#[repr(C, align(64))]
struct HelperStack(core::cell::UnsafeCell<[u8; STACK]>);
// SAFETY: one thread at a time makes a copy, which `AT_WORK` says, and waits for the helper that runs on it.
unsafe impl Sync for HelperStack {}
static HELPERS: HelperStack = HelperStack(core::cell::UnsafeCell::new([0; STACK]));
static AT_WORK: AtomicBool = AtomicBool::new(false);

impl Tracker {
    /// Makes the copy that is wanted. Of threads that notice at once, one does.
    #[cold]
    pub(crate) fn make_self_fork(&self, _guard: &Guard) {
        // Acquire: pairs with the Release below. The helper of the one before has left its stack.
        if sys::is_confined() || AT_WORK.swap(true, Acquire) {
            return;
        }
        let words = &self.arena.header().self_fork;
        let wanted = words.wanted.load(Relaxed);
        if wanted > words.begun.load(Relaxed) {
            words.begun.store(wanted, Relaxed);
            make(words);
        }
        AT_WORK.store(false, Release);
    }
}

fn make(words: &SelfFork) {
    let start = sys::monotonic_ns();
    words.thread.store(sys::thread_id(), Relaxed);
    if let Err(errno) = split() {
        fail(words, errno);
    }
    words.pause_ns.store(sys::monotonic_ns().wrapping_sub(start), Relaxed);
}

fn fail(words: &SelfFork, errno: u32) {
    words.error.store(errno, Relaxed);
    words.made.store(words.begun.load(Relaxed), Release); // the recorder reads the rest after it
    sys::wake(&words.made);
}

/// Signals wait meanwhile: no handler of the program may run in the helper, nor in the copy.
fn split() -> Result<(), u32> {
    let before = sys::set_mask(u64::MAX);
    let helper = split_on(HELPERS.0.get() as usize + STACK);
    let result = match helper {
        1.. => {
            reap(helper as usize);
            Ok(())
        }
        error => Err(error.unsigned_abs() as u32),
    };
    sys::set_mask(before);
    result
}

/// It has ended already, and no other process can have its number.
fn reap(helper: usize) {
    // SAFETY: nothing is written where no address is given.
    let _ = unsafe { syscall(libc::SYS_wait4, [helper, 0, libc::__WALL as usize, 0, 0, 0]) };
}

/// The helper's number, or the error of making it. Registers that callers keep are put on the stack, where the copy has them.
#[unsafe(naked)]
extern "C" fn split_on(_stack: usize) -> isize {
    naked_asm!(
        ".cfi_startproc",
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        ".cfi_adjust_cfa_offset 48",
        "mov rbx, rsp",
        "mov rsi, rdi",
        "mov edi, {of_helper}",
        "xor edx, edx",
        "xor r10d, r10d",
        "xor r8d, r8d",
        "mov eax, {clone}",
        "syscall",
        "test rax, rax",
        "jz 2f",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        ".cfi_adjust_cfa_offset -48",
        "ret",
        "2:", // the helper
        "xor ebp, ebp",
        "xor edi, edi",
        "xor esi, esi",
        "xor edx, edx",
        "xor r10d, r10d",
        "xor r8d, r8d",
        "mov eax, {clone}",
        "syscall",
        "mov rdi, rbx",
        "mov rsi, rax",
        "and rsp, -16",
        "call {after_fork}",
        "3:",
        "xor edi, edi",
        "mov eax, {exit}",
        "syscall",
        "jmp 3b",
        ".cfi_endproc",
        of_helper = const libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FS | libc::CLONE_FILES,
        clone = const libc::SYS_clone,
        exit = const libc::SYS_exit,
        after_fork = sym after_fork)
}

/// In the helper, with the copy's number or an error, and in the copy, with 0.
extern "C" fn after_fork(stack: u64, result: isize) {
    let arena = &tracker().arena;
    let words = &arena.header().self_fork;
    match result {
        0 => serve(words, arena.path(), stack),
        1.. => {}
        error => fail(words, error.unsigned_abs() as u32),
    }
}
