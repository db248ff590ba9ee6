//! The preloaded library: C symbols that a program calls instead of libc's. Each hook enters the guard, calls the real
//! function and tells the tracker; nothing is decided here.
//!
//! `dlopen`, `fork` and `vfork` are not hooked on purpose: `dlopen` finds its caller's run path by its return address, so
//! a wrapper changes what it finds (see `loading`); a child process notices by itself that it is one
//! (`heaplens_tracker::process`).
#![no_std]

mod boot;
mod exit;
#[path = "../../../frameworks/mod.rs"]
mod frameworks;
mod interposed;
mod limits;
mod loading;
mod malloc;
mod mapping;
mod marks;
mod new;
mod plain;
mod pools;
mod process;
mod profiles;
mod python;
mod real;
mod returns;

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const UNBORN: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(UNBORN);

/// Whether hooks may call the real functions; false only while these are being looked up by this very thread.
#[inline(always)]
fn is_ready() -> bool {
    // Acquire: pairs with the Release below, after which the real functions are known.
    STATE.load(Acquire) == READY || start()
}

/// The first hook, or the constructor, whichever comes first, on the only thread that exists then.
#[cold]
#[inline(never)]
fn start() -> bool {
    if STATE.load(Acquire) != UNBORN {
        return false;
    }
    STATE.store(STARTING, Release);
    real::resolve();
    STATE.store(READY, Release);
    heaplens_tracker::process::start(real::OTHER_ALLOCATOR.load(Relaxed));
    if heaplens_tracker::process::settings().frameworks {
        python::probes::offer();
    }
    if real::has_own_malloc() {
        heaplens_tracker::tracker().lose(heaplens_format::Loss::OwnMalloc);
    }
    process::watch_exit();
    true
}

/// Whether hooks of a framework's own functions are to do anything.
fn knows_frameworks() -> bool {
    is_ready() && heaplens_tracker::process::settings().frameworks
}

extern "C" fn construct() {
    is_ready();
    profiles::watch();
    if heaplens_tracker::process::settings().directory.is_empty() {
        return; // what follows is for a recorder
    }
    python::watch();
    returns::offer();
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

// What an exception asks our frames on its way from the real `operator new` to the program: they have nothing to clean
// up, it goes on (8 is _URC_CONTINUE_UNWIND). The precompiled core library refers to this symbol, which only std would
// define; hidden, since a program in Rust may have its own.
core::arch::global_asm!(
    ".text",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    ".type rust_eh_personality,@function",
    "rust_eh_personality:",
    "mov eax, 8",
    "ret",
    ".size rust_eh_personality, . - rust_eh_personality"
);

/// Nothing on our paths panics; should it happen all the same, the program must not go on in an unknown state.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes no arguments and does not return.
    unsafe { libc::abort() }
}
