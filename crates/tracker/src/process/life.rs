//! Whether we are recording: one word on a page that the kernel wipes in every child (`MADV_WIPEONFORK`). So a child knows that it is
//! one at its first event, however it was made (`fork`, `_Fork`, a raw `clone`), without a fork handler, and makes an arena of its
//! own; a child that only calls `exec` makes none.
//!
//! ```text
//!   UNBORN ──start──▶ RECORDING ──trouble──▶ BLIND
//!      ▲                  │ fork (the page is wiped)
//!      └──────────────────┘ in the child
//! ```
//!
//! It owns the words. What is done when they change is decided elsewhere.

use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use heaplens_format::arena::PAGE;

use crate::sys;

/// What the agent does in this process now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Life {
    /// Nothing yet: before the start, or in a child that has not had an event.
    Unborn = 0,
    /// It records.
    Recording = 1,
    /// It gave up.
    Blind = 2,
}

/// What is known of the life of this process; all zero in a child.
#[repr(C)]
struct LifeWords {
    life: AtomicU32,
    /// Whether it records samples of glibc's blocks: then a hook may pass all others on at once.
    quick: AtomicU32,
}

static BEFORE_START: LifeWords =
    LifeWords { life: AtomicU32::new(Life::Unborn as u32), quick: AtomicU32::new(0) };
static LIFE: AtomicPtr<LifeWords> = AtomicPtr::new((&raw const BEFORE_START).cast_mut());
static FORKED: AtomicBool = AtomicBool::new(false);

/// What the agent does now.
#[inline(always)]
pub fn life() -> Life {
    // SAFETY: the pointer always leads to a word that is never unmapped.
    match unsafe { (*LIFE.load(Relaxed)).life.load(Relaxed) } {
        1 => Life::Recording,
        0 => Life::Unborn,
        _ => Life::Blind,
    }
}

/// Whether events that are no samples need nothing from us at all, not even a guard: their real functions call no hook.
#[inline(always)]
pub fn is_quick() -> bool {
    // SAFETY: as in `life`.
    unsafe { (*LIFE.load(Relaxed)).quick.load(Relaxed) != 0 }
}

/// Whether this process began by `fork`, so that it has blocks that are not in its tables.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// Whether the arena belongs to this process: the child of a `vfork` runs on its parent's memory.
pub(crate) fn is_own_arena() -> bool {
    life() == Life::Recording && sys::own_pid() == sys::process_id()
}

/// From now on the agent does this; `is_quick`: see [`is_quick`].
pub(crate) fn set_life(life: Life, is_quick: bool) {
    // SAFETY: as in `life`. Release: whoever sees RECORDING sees the arena.
    unsafe {
        let words = LIFE.load(Relaxed);
        (*words).quick.store(u32::from(is_quick), Release);
        (*words).life.store(life as u32, Release);
    }
}

/// This process is the child of a recorded one.
pub(crate) fn set_forked() {
    FORKED.store(true, Relaxed);
}

/// Puts the words where the kernel wipes them in a child.
pub(crate) fn make_life_page() {
    let Some(page) = sys::private_pages(PAGE) else { return };
    // Kernels before 4.14 do not know the advice: there a forked child would write into its parent's tables. The word
    // stays where it is not wiped, and the pid is compared at every exit; the oldest kernel we meet is 4.18.
    if sys::advise(page, PAGE, libc::MADV_WIPEONFORK).is_ok() {
        LIFE.store(page as *mut LifeWords, Release);
    }
}
