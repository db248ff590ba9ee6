//! The end of a program, before any of its exit handlers and destructors: the moment when it still holds what it held, and
//! when memory may be inspected and reclaimed.
//!
//! ```text
//!   main returns ──▶ after_main ──┐
//!   exit(code)  ───▶ on_exit ─────┴─▶ leave, once ──▶ handlers, destructors ──▶ at_exit (the code)
//!   _exit, quick_exit ──────────────▶ at_exit's work at once: no more code is to run
//!   abort ──────────────────────────▶ an inspection, where no handler of the program's stands in between
//!   a signal: `c::signals`
//! ```
//!
//! libc calls `exit` after `main` by itself, out of any hook's sight. So `__libc_start_main` is given a function that calls
//! `main` and notices when it returns. It is one frame more on the stacks of the main thread, which the recorder leaves out;
//! exceptions and `pthread_exit` find their way through it by its unwind table. In `exit` nothing stays on the stack. Where the stack
//! is at that moment is noted: below it lies what functions left that have returned.

use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::AtomicUsize;

use heaplens_format::arena::header::KEPT_REGISTERS;
use heaplens_tracker::lifecycle::Departure;
use heaplens_tracker::{Caller, Guard, Nesting, lifecycle, tracker};

use crate::c::{real, signals};
use crate::lifecycle::{at_exit, reclaim};
use crate::start::is_ready;

/// The program's `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// Called by the program's first code, when all libraries have been set up and the real function is known.
///
/// # Safety
/// As libc's.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main() -> c_int {
    naked_asm!(
        ".cfi_startproc",
        "mov qword ptr [rip + {main}], rdi",
        "lea rdi, [rip + {ours}]",
        "jmp qword ptr [rip + {start}]",
        ".cfi_endproc",
        main = sym MAIN, ours = sym main_and_after, start = sym real::START)
}

/// `main` with its own arguments, and what it returned.
#[unsafe(naked)]
unsafe extern "C" fn main_and_after() -> c_int {
    naked_asm!(
        ".cfi_startproc",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call qword ptr [rip + {main}]",
        "mov dword ptr [rsp], eax",
        "lea rdi, [rsp + 8]",
        "call {after}",
        "mov eax, dword ptr [rsp]",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        main = sym MAIN, after = sym after_main)
}

/// Registers as `export_ends` pushes them.
type KeptRegisters = [u64; KEPT_REGISTERS];
/// A function that ends the process.
type Ends = unsafe extern "C" fn(c_int) -> !;

/// Exports functions that end the process. The hook gets the argument, rsp and rbp at the entry and what functions keep for their callers,
/// and says which function to jump to: nothing of ours stays on the stack.
macro_rules! export_ends {
    ($($name:ident => $hook:path;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "mov rsi, rsp",
                "mov rdx, rbp",
                "push rdi",
                "push r15",
                "push r14",
                "push r13",
                "push r12",
                "push rbp",
                "push rbx",
                ".cfi_adjust_cfa_offset 56",
                "mov rcx, rsp",
                "call {hook}",
                "add rsp, 48",
                "pop rdi",
                ".cfi_adjust_cfa_offset -56",
                "jmp rax",
                ".cfi_endproc",
                hook = sym $hook)
        }
    )*};
}

export_ends! {
    exit => on_exit;
    _exit => on_exit_now;
    _Exit => on_exit_now;
    quick_exit => on_quick_exit;
    abort => on_abort;
}

/// Says where the real function is.
unsafe extern "C" fn on_exit(_code: c_int, rsp: u64, rbp: u64, registers: *const KeptRegisters) -> Ends {
    if is_ready()
        && let Some(guard) = Guard::enter(Nesting::Never)
        && tracker().is_outside_handlers(&guard, Caller { rsp, rbp })
    {
        // SAFETY: `exit` has pushed them right before.
        leave(&guard, rsp, unsafe { &*registers });
    }
    real::EXIT.get().unwrap_or(end_without_libc)
}

/// No more code of the program is to run, so nothing is tried.
unsafe extern "C" fn on_exit_now(code: c_int, rsp: u64, _rbp: u64, registers: *const KeptRegisters) -> Ends {
    // SAFETY: pushed right before.
    note_end(code, rsp, unsafe { &*registers });
    real::EXIT_NOW.get().unwrap_or(end_without_libc)
}

unsafe extern "C" fn on_quick_exit(
    code: c_int,
    rsp: u64,
    _rbp: u64,
    registers: *const KeptRegisters,
) -> Ends {
    // SAFETY: pushed right before.
    note_end(code, rsp, unsafe { &*registers });
    real::QUICK_EXIT.get().unwrap_or(end_without_libc)
}

fn note_end(code: c_int, stack: u64, registers: &KeptRegisters) {
    if is_ready() {
        lifecycle::on_leaving(Departure { stack, from: stack, registers });
        at_exit::leave(code);
    }
}

/// Where the program handles the signal itself, it may go on, and what it holds then is not its end.
unsafe extern "C" fn on_abort(_: c_int, rsp: u64, _rbp: u64, registers: *const KeptRegisters) -> Ends {
    if is_ready() && !signals::is_handled(libc::SIGABRT) {
        // SAFETY: pushed right before.
        let registers = unsafe { &*registers };
        lifecycle::before_death(Departure { stack: rsp, from: rsp, registers });
    }
    real::ABORT.get().unwrap_or(abort_without_libc)
}

unsafe extern "C" fn end_without_libc(code: c_int) -> ! {
    end_group(code)
}

unsafe extern "C" fn abort_without_libc(_: c_int) -> ! {
    end_group(127)
}

/// Ends this process without anybody's help.
fn end_group(code: c_int) -> ! {
    loop {
        // SAFETY: ends this process; the loop only satisfies the type.
        let _ =
            unsafe { heaplens_tracker::sys::syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// No handler is on the stack of a `main` that returned, and what the registers hold is libc's.
extern "C" fn after_main(stack: u64) {
    if let Some(guard) = Guard::enter(Nesting::Never) {
        leave(&guard, stack, &[0; KEPT_REGISTERS]);
    }
}

/// The program leaves, of its own will and outside of signal handlers, and everything is as it was.
fn leave(guard: &Guard, stack: u64, registers: &KeptRegisters) {
    if lifecycle::on_leaving(Departure { stack, from: stack, registers }) {
        reclaim::at_exit(guard);
    }
}
