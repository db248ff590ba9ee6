//! Calls by which a program limits itself, and `syscall`, by which it may do so, or end. Before it limits or locks its address space, our arena, which reserves far more
//! than it uses, gives up what it does not need, so that the limit meets the program's own memory. Before it gives up
//! system calls or the time stamp counter, we stop to use them.

use core::ffi::{c_int, c_void};

use heaplens_tracker::{lifecycle, tracker};

use crate::c::mapping::raw;
use crate::c::{real, signals};
use crate::start::is_ready;

/// # Safety
/// As libc's; the variadic arguments are words, all of them are passed on.
#[unsafe(no_mangle)]
unsafe extern "C" fn prctl(operation: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    let Some(real) = real::PRCTL.get().filter(|_| is_ready()) else { return -1 };
    match operation {
        libc::PR_SET_SECCOMP => confine(),
        libc::PR_SET_TSC if a == libc::PR_TSC_SIGSEGV as usize => {
            heaplens_tracker::process::clock::stop_clock()
        }
        _ => {}
    }
    // SAFETY: the real function with the program's own arguments.
    unsafe { real(operation, a, b, c, d) }
}

/// From now on neither system calls nor handlers of ours are among those that the program foresees.
fn confine() {
    signals::give_up();
    tracker().on_confine();
}

// `syscall` takes up to seven arguments, one on the stack: it is jumped to with all of them in place. Only `seccomp` (317),
// which has no function of its own in libc, `exit_group` (231), after which nothing comes, `mlockall` (151) and the two that set limits (160, 302) are
// checked before.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "cmp rdi, 317",
        "je 2f",
        "cmp rdi, 231",
        "je 2f",
        "cmp rdi, 151",
        "je 2f",
        "cmp rdi, 160",
        "je 2f",
        "cmp rdi, 302",
        "je 2f",
        "3:",
        "mov rax, [rip + {real}]",
        "test rax, rax",
        "jz {early}",
        "jmp rax",
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call {before}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "jmp 3b",
        ".cfi_endproc",
        real = sym real::SYSCALL,
        before = sym before_call,
        early = sym early_syscall,
    )
}

/// Before `syscall(number, …)`, with its first arguments.
extern "C" fn before_call(number: libc::c_long, first: c_int, second: usize, third: usize) {
    let limits_address_space = |resource: c_int, limits: usize| resource == ADDRESS_SPACE && limits != 0;
    match number {
        libc::SYS_seccomp => confine(),
        _ if !is_ready() => {}
        libc::SYS_exit_group => lifecycle::on_exit(first),
        libc::SYS_mlockall => tracker().on_lock_all(),
        libc::SYS_setrlimit if limits_address_space(first, second) => tracker().on_limit(),
        libc::SYS_prlimit64 if limits_address_space(second as c_int, third) => tracker().on_limit(),
        _ => {}
    }
}

/// Before the real function is known: an allocator inside the program that starts up under its own lock must not be made
/// to wait for the look-up of everything else, which may allocate.
unsafe extern "C" fn early_syscall(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    raw(number as libc::c_long, [a, b, c, d, e, f])
}

const ADDRESS_SPACE: c_int = libc::RLIMIT_AS as c_int;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mlockall(flags: c_int) -> c_int {
    let Some(real) = real::MLOCKALL.get().filter(|_| is_ready()) else { return -1 };
    if flags & libc::MCL_CURRENT != 0 {
        tracker().on_lock_all();
    }
    // SAFETY: the real function with the program's own argument.
    unsafe { real(flags) }
}

/// Exports both names of a function that sets a limit; `$limits` is null when the program only asks.
macro_rules! export_limit {
    ($($name:ident, $name64:ident => $real:ident($($argument:ident: $type:ty),*) if $resource:ident with $limits:ident;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let Some(real) = real::$real.get().filter(|_| is_ready()) else { return -1 };
            if $resource == ADDRESS_SPACE && !$limits.is_null() {
                tracker().on_limit();
            }
            // SAFETY: the real function with the program's own arguments.
            unsafe { real($($argument),*) }
        }

        /// # Safety
        /// As libc's; on x86-64 the two are one.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name64($($argument: $type),*) -> c_int {
            // SAFETY: the same function.
            unsafe { $name($($argument),*) }
        }
    )*};
}

export_limit! {
    setrlimit, setrlimit64 => SETRLIMIT(resource: c_int, limits: *const c_void) if resource with limits;
    prlimit, prlimit64 => PRLIMIT(pid: c_int, resource: c_int, limits: *const c_void, old: *mut c_void)
        if resource with limits;
}
