//! The injection trampoline, on which a thread makes a system call for the recorder: see [`heaplens_format::arena::trampoline`]. The
//! recorder gives a thread that stands still the registers of a call and has it run from here. Usually it takes the thread back
//! itself, right after the call. Should it be killed before, then the kernel lets go of the thread, and the thread returns by itself.
//!
//! ```text
//!   call_and_return:  the call ─┬─ in the thread: waits for a helper, gets its mask, then its registers ─▶ where it was
//!                               └─ in the task that the call made ─┐
//!   call_and_end:     the call ────────────────────────────────────┴▶ the task ends
//! ```
//!
//! Nothing here moves the stack pointer or writes below it, and no instruction changes the flags: both are the program's all the time.
//! Registers come back by plain loads, not by `rt_sigreturn`, which would have an interrupted sleep end early (the kernel
//! forgets there what is left of it).

use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::trampoline::{GENERAL_REGISTERS, Trampoline};
use heaplens_format::atomic::AtomicU64;

static TRAMPOLINE: Trampoline = Trampoline {
    call_and_return: AtomicU64::new(0),
    call_and_end: AtomicU64::new(0),
    code_end: AtomicU64::new(0),
    thread: AtomicU64::new(0),
    mask: AtomicU64::new(0),
    instruction: AtomicU64::new(0),
    registers: [const { AtomicU64::new(0) }; GENERAL_REGISTERS],
};

unsafe extern "C" {
    fn heaplens_call_and_return();
    fn heaplens_call_and_end();
    fn heaplens_trampoline_end();
}

/// Its address, for the header of the arena.
pub fn offer() -> *const Trampoline {
    TRAMPOLINE.call_and_return.store(heaplens_call_and_return as *const () as u64, Relaxed);
    TRAMPOLINE.call_and_end.store(heaplens_call_and_end as *const () as u64, Relaxed);
    TRAMPOLINE.code_end.store(heaplens_trampoline_end as *const () as u64, Relaxed);
    TRAMPOLINE.thread.store(0, Relaxed);
    &TRAMPOLINE
}

// A helper is waited for by its number: what is no child of this process, as a copy is none, is not waited for (ECHILD), and
// neither is the number of an error (EINVAL). `jrcxz` alone of all jumps depends on no flag.
core::arch::global_asm!(
    ".pushsection .text.heaplens_trampoline,\"ax\",@progbits",
    ".hidden heaplens_call_and_return",
    ".globl heaplens_call_and_return",
    ".hidden heaplens_call_and_end",
    ".globl heaplens_call_and_end",
    ".hidden heaplens_trampoline_end",
    ".globl heaplens_trampoline_end",
    "heaplens_call_and_end:",
    "syscall",
    "2:",
    "mov edi, 0",
    "mov eax, {exit}",
    "syscall",
    "jmp 2b",
    "heaplens_call_and_return:",
    "syscall",
    "mov rcx, rax",
    "jrcxz 2b",
    "mov edi, {by_number}",
    "mov rsi, rax",
    "mov edx, 0",
    "mov r10d, {ends_of_all}",
    "mov r8d, 0",
    "mov eax, {waitid}",
    "syscall",
    "mov edi, {set_mask}",
    "lea rsi, [rip + {trampoline} + {mask}]",
    "mov edx, 0",
    "mov r10d, 8",
    "mov eax, {sigprocmask}",
    "syscall",
    "mov rax, qword ptr [rip + {trampoline} + {registers}]",
    "mov rbx, qword ptr [rip + {trampoline} + {registers} + 8]",
    "mov rcx, qword ptr [rip + {trampoline} + {registers} + 16]",
    "mov rdx, qword ptr [rip + {trampoline} + {registers} + 24]",
    "mov rsi, qword ptr [rip + {trampoline} + {registers} + 32]",
    "mov rdi, qword ptr [rip + {trampoline} + {registers} + 40]",
    "mov rbp, qword ptr [rip + {trampoline} + {registers} + 48]",
    "mov r8, qword ptr [rip + {trampoline} + {registers} + 56]",
    "mov r9, qword ptr [rip + {trampoline} + {registers} + 64]",
    "mov r10, qword ptr [rip + {trampoline} + {registers} + 72]",
    "mov r11, qword ptr [rip + {trampoline} + {registers} + 80]",
    "mov r12, qword ptr [rip + {trampoline} + {registers} + 88]",
    "mov r13, qword ptr [rip + {trampoline} + {registers} + 96]",
    "mov r14, qword ptr [rip + {trampoline} + {registers} + 104]",
    "mov r15, qword ptr [rip + {trampoline} + {registers} + 112]",
    "mov qword ptr [rip + {trampoline} + {thread}], 0",
    "jmp qword ptr [rip + {trampoline} + {instruction}]",
    "heaplens_trampoline_end:",
    ".popsection",
    trampoline = sym TRAMPOLINE,
    mask = const offset_of!(Trampoline, mask),
    registers = const offset_of!(Trampoline, registers),
    thread = const offset_of!(Trampoline, thread),
    instruction = const offset_of!(Trampoline, instruction),
    exit = const libc::SYS_exit,
    waitid = const libc::SYS_waitid,
    by_number = const libc::P_PID,
    ends_of_all = const libc::WEXITED | libc::__WALL,
    sigprocmask = const libc::SYS_rt_sigprocmask,
    set_mask = const libc::SIG_SETMASK,
);
