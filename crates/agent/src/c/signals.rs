//! Signals that end the program, where leaks are looked for: a handler of ours stands where the program has none, has the process
//! inspected, and lets it die by the same signal.
//!
//! ```text
//!   program's disposition │ the kernel's        │ the program is told
//!   SIG_DFL               │ ours                │ SIG_DFL
//!   SIG_IGN, a handler    │ the same            │ the same
//!   after exec            │ SIG_DFL (POSIX)     │
//! ```
//!
//! After the inspection the disposition is SIG_DFL and the signal is queued again for this thread, with all that it says of itself: it arrives
//! when the handler returns, and finds the registers and the stack of the moment at which it came first. So the status and the core
//! dump are those of the program alone. The handler runs on the alternate stack where the thread has one; without one a stack that is full ends
//! the program unseen.
//!
//! Where a handler for guard pages is below (`lifecycle::faults`), all of this is above it: what it passes on comes here.
//!
//! Programs that set handlers by system calls of their own see ours. Those of Go are left alone (`go`); where another runtime calls ours as
//! the handler that was there before, the program dies as it would by SIG_DFL.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::header::LEAVING_REGISTERS;
use heaplens_tracker::lifecycle::Departure;
use heaplens_tracker::process::Life;
use heaplens_tracker::{lifecycle, process, sys, tracker};
use libc::{SIG_DFL, SIG_ERR, SIG_IGN};

use super::{go, real};
use crate::lifecycle::faults;
use crate::start::is_ready;

type Action = libc::sigaction;

/// Those that end a process by default and can be handled.
const FATAL: [c_int; 19] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGSYS,
];

/// Bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: u64 = 128;
/// In the general registers of a signal's context.
const STACK_POINTER: usize = libc::REG_RSP as usize;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// Before the program's first line. The first process of a PID namespace is spared by signals that it does not handle.
pub fn watch() {
    let is_wanted = process::settings().leak_check && process::life() == Life::Recording;
    if !is_wanted || sys::process_id() == 1 || go::is_program() {
        return;
    }
    IS_ON.store(true, Relaxed);
    let is_default = |signal: &c_int| current(*signal) == Some(SIG_DFL);
    FATAL.into_iter().filter(is_default).for_each(|signal| put(signal, &ours()));
}

/// The program gives up system calls: the handler could make none.
pub fn give_up() {
    if IS_ON.swap(false, Relaxed) {
        let is_ours = |signal: &c_int| current(*signal) == Some(handler());
        FATAL.into_iter().filter(is_ours).for_each(|signal| put(signal, &plain(SIG_DFL)));
    }
}

/// Whether the program has a handler of its own.
pub fn is_handled(signal: c_int) -> bool {
    current(signal).is_some_and(|now| ![SIG_DFL, SIG_IGN, handler()].contains(&now))
}

fn is_watched(signal: c_int) -> bool {
    IS_ON.load(Relaxed) && FATAL.contains(&signal)
}

fn handler() -> usize {
    on_signal as *const () as usize
}

/// No flags, no mask: as the kernel has it where nobody set anything.
fn plain(handler: usize) -> Action {
    // SAFETY: numbers and a function pointer that may be null.
    let mut action: Action = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action
}

fn ours() -> Action {
    let mut action = plain(handler());
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: writes the set.
    unsafe { libc::sigfillset(&mut action.sa_mask) };
    action
}

/// The kernel's disposition.
fn current(signal: c_int) -> Option<usize> {
    let mut now = plain(SIG_DFL);
    // SAFETY: only asks.
    (unsafe { faults::action(signal, core::ptr::null(), &mut now) } == 0).then_some(now.sa_sigaction)
}

fn put(signal: c_int, action: &Action) {
    // SAFETY: `on_signal` has the type that its flags say, and lives as long as the process.
    unsafe { faults::action(signal, action, core::ptr::null_mut()) };
}

/// The process dies when this returns. Whatever was interrupted is not called again, and nothing is allocated.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let here = 0u64;
    // SAFETY: this thread's errno; one that is spared goes on.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes the context that the signal interrupted; general registers are as many words.
    let registers = unsafe {
        let general = &raw const (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        core::slice::from_raw_parts(general.cast::<u64>(), LEAVING_REGISTERS)
    };
    // SAFETY: as above; a positive code is the kernel's own.
    unsafe {
        if signal == libc::SIGSEGV && (*info).si_code > 0 {
            tracker().on_fatal_access(faults::access(&*info, &*context.cast::<libc::ucontext_t>()));
        }
    }
    let stack = registers.get(STACK_POINTER).map_or(0, |stack| stack.saturating_sub(RED_ZONE));
    lifecycle::before_death(Departure { stack, from: &raw const here as u64, registers });
    put(signal, &plain(SIG_DFL));
    queue_again(signal, info);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// For this thread; blocked until the handler returns.
fn queue_again(signal: c_int, info: *const libc::siginfo_t) {
    let (process, thread, signal) = (sys::process_id() as usize, sys::thread_id() as usize, signal as usize);
    // SAFETY: the kernel reads what it passed to the handler.
    unsafe {
        let queued =
            sys::syscall(libc::SYS_rt_tgsigqueueinfo, [process, thread, signal, info as usize, 0, 0]);
        if queued.is_err() {
            let _ = sys::syscall(libc::SYS_tgkill, [process, thread, signal, 0, 0, 0]);
        }
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    if !is_ready() {
        return -1;
    }
    let ours = ours();
    // SAFETY: what the program passes is null or valid, as libc wants it.
    unsafe {
        let is_default = !new.is_null() && (*new).sa_sigaction == SIG_DFL;
        let new = if is_default && is_watched(signal) { &raw const ours } else { new };
        let status = faults::action(signal, new, old);
        if status == 0 && !old.is_null() && (*old).sa_sigaction == handler() {
            *old = plain(SIG_DFL);
        }
        status
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the two are one function.
    unsafe { sigaction(signal, new, old) }
}

/// A handler that the kernel has taken away as it was called (`SA_RESETHAND`) leaves SIG_DFL behind, and raises the signal again.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn raise(signal: c_int) -> c_int {
    let Some(real) = real::RAISE.get().filter(|_| is_ready()) else { return -1 };
    if is_watched(signal) && current(signal) == Some(SIG_DFL) {
        put(signal, &ours());
    }
    // SAFETY: the real function with the program's own argument.
    unsafe { real(signal) }
}

/// Exports functions that set a handler and return the one before, with the flags that each of them sets.
macro_rules! export_signal {
    ($($name:ident => $real:ident, $flags:expr;)*) => {$(
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(signal: c_int, new: usize) -> usize {
            let Some(real) = real::$real.get().filter(|_| is_ready()) else { return SIG_ERR };
            replace(signal, new, |new| match faults::is_watching(signal) {
                true => faults::change_handler(new, $flags),
                // SAFETY: the real function with the program's own arguments, or with the handler of ours.
                false => unsafe { real(signal, new) },
            })
        }
    )*};
}

export_signal! {
    signal => SIGNAL, libc::SA_RESTART;
    ssignal => SIGNAL, libc::SA_RESTART;
    bsd_signal => BSD_SIGNAL, libc::SA_RESTART;
    sysv_signal => SYSV_SIGNAL, libc::SA_RESETHAND | libc::SA_NODEFER;
    __sysv_signal => SYSV_SIGNAL, libc::SA_RESETHAND | libc::SA_NODEFER;
    sigset => SIGSET, 0;
}

fn replace(signal: c_int, new: usize, real: impl FnOnce(usize) -> usize) -> usize {
    let is_taken = new == SIG_DFL && is_watched(signal);
    let old = real(if is_taken { handler() } else { new });
    if is_taken && old != SIG_ERR {
        put(signal, &ours()); // with flags that these functions do not set
    }
    if old == handler() { SIG_DFL } else { old }
}
