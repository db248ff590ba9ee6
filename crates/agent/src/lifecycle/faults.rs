//! Accesses that a guard page catches: the kernel sends SIGSEGV, and our handler takes those of our own pages. Everything else is the
//! program's: its handler is called as the kernel would call it, or the default is done.
//!
//! The program sees nothing of it: what `sigaction` and `signal` say of SIGSEGV is what it said itself. Ours has the flags and the mask of the
//! program's, so that the kernel prepares the call as the program wants it. A program that makes the system call itself takes the signal away
//! from us, and the access ends it then.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::hint::spin_loop;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_tracker::events::{Access, FaultAnswer};
use heaplens_tracker::{Caller, sys, tracker};

use crate::c::real;

/// Set where our handler is in place.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Set at an access that is to end the program: the signal may come again on the way, and is the same access.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// What the program wants to be done. Zero: the default.
struct ProgramAction {
    is_taken: AtomicBool,
    action: UnsafeCell<libc::sigaction>,
}
// SAFETY: the action is only touched by who holds the lock; the fields of a sigaction are plain words.
unsafe impl Sync for ProgramAction {}

static PROGRAM: ProgramAction = ProgramAction {
    is_taken: AtomicBool::new(false),
    // SAFETY: numbers and function pointers, for which zero is a value.
    action: UnsafeCell::new(unsafe { core::mem::zeroed() }),
};

impl ProgramAction {
    /// The action, and another one in its place. A signal that comes meanwhile finds the lock taken by the thread that it interrupts: it goes
    /// on without after a while, with words that are being written.
    fn swap(&self, new: Option<&libc::sigaction>) -> libc::sigaction {
        const SPINS: usize = 10_000;
        let is_held = (0..SPINS).any(|_| {
            spin_loop();
            // Acquire: pairs with the Release below.
            self.is_taken.compare_exchange(false, true, Acquire, Relaxed).is_ok()
        });
        // SAFETY: the lock is held, or its holder is the code that this handler interrupts.
        let old = unsafe { *self.action.get() };
        if let Some(new) = new {
            // SAFETY: as above.
            unsafe { *self.action.get() = *new };
        }
        if is_held {
            self.is_taken.store(false, Release);
        }
        old
    }
}

/// Puts the handler in place, before the program's first line.
pub fn watch() {
    // SAFETY: numbers and function pointers, for which zero is a value.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    let Some(real) = real::SIGACTION.get() else { return };
    // SAFETY: the kernel writes one structure.
    if unsafe { real(libc::SIGSEGV, core::ptr::null(), &mut before) } != 0 {
        return;
    }
    PROGRAM.swap(Some(&before));
    IS_ON.store(install(&before), Relaxed);
}

/// Our handler, as far as the program's action is concerned that it stands for.
fn install(program: &libc::sigaction) -> bool {
    let Some(real) = real::SIGACTION.get() else { return false };
    let mut ours = *program;
    let is_handled = !is_default(program) && !is_ignored(program);
    ours.sa_sigaction = on_signal as *const () as usize;
    // Without a handler of the program's, ours may be interrupted by itself, and runs where it finds room.
    let flags =
        if is_handled { program.sa_flags & !libc::SA_RESETHAND } else { libc::SA_ONSTACK | libc::SA_NODEFER };
    ours.sa_flags = flags | libc::SA_SIGINFO;
    // SAFETY: the handler has the type that the flags say.
    unsafe { real(libc::SIGSEGV, &ours, core::ptr::null_mut()) == 0 }
}

fn is_default(action: &libc::sigaction) -> bool {
    action.sa_sigaction == libc::SIG_DFL
}

fn is_ignored(action: &libc::sigaction) -> bool {
    action.sa_sigaction == libc::SIG_IGN
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a `siginfo_t` and a `ucontext_t`, and errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        let answer = match (*info).si_code {
            SEGV_ACCERR if !IS_ENDING.load(Relaxed) => {
                tracker().on_fault(access(&*info, &*context.cast::<libc::ucontext_t>()))
            }
            _ => FaultAnswer::NotOurs,
        };
        if answer == FaultAnswer::Stop {
            IS_ENDING.store(true, Relaxed);
        }
        *libc::__errno_location() = errno;
        if answer != FaultAnswer::GoOn {
            pass_on(signal, info, context);
        }
    }
}

/// Memory that is mapped, and may not be accessed.
const SEGV_ACCERR: c_int = 2;

/// What a SIGSEGV of the kernel says.
pub fn access(info: &libc::siginfo_t, context: &libc::ucontext_t) -> Access {
    const WRITE: i64 = 1 << 1; // of the page fault's error code
    const FETCH: i64 = 1 << 4;
    let registers = &context.uc_mcontext.gregs;
    let register = |number: c_int| registers[number as usize].cast_unsigned();
    Access {
        // SAFETY: SIGSEGV has an address.
        address: unsafe { info.si_addr() } as usize,
        code: info.si_code.cast_unsigned(),
        is_write: registers[libc::REG_ERR as usize] & WRITE != 0,
        is_jump: registers[libc::REG_ERR as usize] & FETCH != 0,
        instruction: register(libc::REG_RIP),
        caller: Caller { rsp: register(libc::REG_RSP), rbp: register(libc::REG_RBP) },
    }
}

/// Does what would have been done without us.
///
/// # Safety
/// In a handler, with its arguments.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let program = PROGRAM.swap(None);
    // SAFETY: as the caller says.
    let was_sent = unsafe { (*info).si_code } <= 0;
    if is_ignored(&program) && was_sent {
        return;
    }
    if is_default(&program) || is_ignored(&program) {
        return end_by_default(signal, was_sent);
    }
    if program.sa_flags & libc::SA_RESETHAND != 0 {
        // SAFETY: as for `PROGRAM`.
        PROGRAM.swap(Some(&unsafe { core::mem::zeroed() }));
    }
    // SAFETY: the program's handler; one that takes the number alone does not mind the rest.
    unsafe {
        let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            core::mem::transmute(program.sa_sigaction);
        handler(signal, info, context);
    }
}

/// The access comes again as soon as the handler returns, and ends the program; a signal that was sent is sent again.
fn end_by_default(signal: c_int, was_sent: bool) {
    // SAFETY: zero is the default action, without flags; the calls take no pointers that matter.
    unsafe {
        let default: libc::sigaction = core::mem::zeroed();
        if let Some(real) = real::SIGACTION.get() {
            real(signal, &default, core::ptr::null_mut());
        }
        if was_sent {
            let (process, thread) = (sys::process_id() as usize, sys::thread_id() as usize);
            let _ = sys::syscall(libc::SYS_tgkill, [process, thread, signal as usize, 0, 0, 0]);
        }
    }
}

/// Whether a signal has this handler of ours below whatever the program sets.
pub fn is_watching(signal: c_int) -> bool {
    signal == libc::SIGSEGV && IS_ON.load(Relaxed)
}

/// As libc's `sigaction`, of what stands above this handler.
///
/// # Safety
/// As libc's.
pub unsafe fn action(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if is_watching(signal) {
        // SAFETY: null, or structures of the caller.
        return unsafe { change_program_action(new.as_ref(), old.as_mut()) };
    }
    // SAFETY: the real function with the same arguments.
    real::SIGACTION.get().map_or(-1, |real| unsafe { real(signal, new, old) })
}

fn change_program_action(new: Option<&libc::sigaction>, old: Option<&mut libc::sigaction>) -> c_int {
    let new = new.copied(); // both may be the same
    let before = PROGRAM.swap(new.as_ref());
    if let Some(old) = old {
        *old = before;
    }
    if new.is_none_or(|new| install(&new)) { 0 } else { -1 }
}

/// As libc's `signal` and its kin, of what stands above this handler; the flags are those that each of them sets.
pub fn change_handler(handler: usize, flags: c_int) -> usize {
    // SAFETY: numbers and function pointers, for which zero is a value.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { core::mem::zeroed() };
    (new.sa_sigaction, new.sa_flags) = (handler, flags);
    match change_program_action(Some(&new), Some(&mut old)) {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}
