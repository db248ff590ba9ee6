//! The preloaded library: C symbols that a program calls instead of libc's. Each hook enters the guard, calls the real
//! function and reports to the tracker; nothing is decided here.
//!
//! `dlopen`, `fork` and `vfork` are not hooked on purpose: `dlopen` finds its caller's run path by its return address, so
//! a wrapper changes what it finds (see `c::loading`); a child process notices by itself that it is one
//! (`heaplens_tracker::lifecycle::start`).
#![no_std]

mod c;
mod cxx;
#[path = "../../../frameworks/mod.rs"]
mod frameworks;
mod interposed;
mod lifecycle;
mod pools;
mod python;
mod start;

use c::signals;
use lifecycle::{profiles, reclaim};
use start::is_ready;

extern "C" fn construct() {
    is_ready();
    profiles::watch();
    if heaplens_tracker::process::settings().directory.is_empty() {
        return; // what follows is for a recorder
    }
    signals::watch();
    python::watch();
    reclaim::offer();
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
