//! The way back of a thread that makes a system call for the recorder: see [`heaplens_format::arena::detour`]. The recorder
//! gives a thread that stands still the registers of a call and has it run from here. Usually it takes the thread back itself, right
//! behind the call. Should it be killed before, then the kernel lets go of the thread, and the thread brings itself back.
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

use heaplens_format::arena::detour::{Detour, GENERAL_REGISTERS};
use heaplens_format::atomic::AtomicU64;

static DETOUR: Detour = Detour {
    call_and_return: AtomicU64::new(0),
    call_and_end: AtomicU64::new(0),
    code_end: AtomicU64::new(0),
    traveller: AtomicU64::new(0),
    mask: AtomicU64::new(0),
    instruction: AtomicU64::new(0),
    registers: [const { AtomicU64::new(0) }; GENERAL_REGISTERS],
};

unsafe extern "C" {
    fn heaplens_call_and_return();
    fn heaplens_call_and_end();
    fn heaplens_detour_end();
}

/// Where it is told how to go.
pub fn offer() -> *const Detour {
    DETOUR.call_and_return.store(heaplens_call_and_return as *const () as u64, Relaxed);
    DETOUR.call_and_end.store(heaplens_call_and_end as *const () as u64, Relaxed);
    DETOUR.code_end.store(heaplens_detour_end as *const () as u64, Relaxed);
    DETOUR.traveller.store(0, Relaxed);
    &DETOUR
}

// A helper is waited for by its number: what is no child of this process, as an image is none, is not waited for (ECHILD), and
// neither is the number of an error (EINVAL). `jrcxz` alone of all jumps looks at no flag.
core::arch::global_asm!(
    ".pushsection .text.heaplens_detour,\"ax\",@progbits",
    ".hidden heaplens_call_and_return",
    ".globl heaplens_call_and_return",
    ".hidden heaplens_call_and_end",
    ".globl heaplens_call_and_end",
    ".hidden heaplens_detour_end",
    ".globl heaplens_detour_end",
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
    "lea rsi, [rip + {detour} + {mask}]",
    "mov edx, 0",
    "mov r10d, 8",
    "mov eax, {sigprocmask}",
    "syscall",
    "mov rax, qword ptr [rip + {detour} + {registers}]",
    "mov rbx, qword ptr [rip + {detour} + {registers} + 8]",
    "mov rcx, qword ptr [rip + {detour} + {registers} + 16]",
    "mov rdx, qword ptr [rip + {detour} + {registers} + 24]",
    "mov rsi, qword ptr [rip + {detour} + {registers} + 32]",
    "mov rdi, qword ptr [rip + {detour} + {registers} + 40]",
    "mov rbp, qword ptr [rip + {detour} + {registers} + 48]",
    "mov r8, qword ptr [rip + {detour} + {registers} + 56]",
    "mov r9, qword ptr [rip + {detour} + {registers} + 64]",
    "mov r10, qword ptr [rip + {detour} + {registers} + 72]",
    "mov r11, qword ptr [rip + {detour} + {registers} + 80]",
    "mov r12, qword ptr [rip + {detour} + {registers} + 88]",
    "mov r13, qword ptr [rip + {detour} + {registers} + 96]",
    "mov r14, qword ptr [rip + {detour} + {registers} + 104]",
    "mov r15, qword ptr [rip + {detour} + {registers} + 112]",
    "mov qword ptr [rip + {detour} + {traveller}], 0",
    "jmp qword ptr [rip + {detour} + {instruction}]",
    "heaplens_detour_end:",
    ".popsection",
    detour = sym DETOUR,
    mask = const offset_of!(Detour, mask),
    registers = const offset_of!(Detour, registers),
    traveller = const offset_of!(Detour, traveller),
    instruction = const offset_of!(Detour, instruction),
    exit = const libc::SYS_exit,
    waitid = const libc::SYS_waitid,
    by_number = const libc::P_PID,
    ends_of_all = const libc::WEXITED | libc::__WALL,
    sigprocmask = const libc::SYS_rt_sigprocmask,
    set_mask = const libc::SIG_SETMASK,
);
