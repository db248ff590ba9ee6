//! One of so many blocks is guarded, in a run that records samples: most events there need nothing from us, and their hooks jump to the real
//! functions at once (`thread::guard::passes_by`). So that those of other runs stay as quick, the counting is in functions that take the
//! place of the real ones.
//!
//! ```text
//!   hook ─▶ malloc_in_turn ─ count down ──▶ real malloc             hook ─▶ free_in_turn ─ not in the range ─▶ real free
//!                                └─ 0 ─▶ on_turn ─▶ guarded block                              └─▶ on_guarded
//! ```

use core::arch::naked_asm;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::environment::Guarding;
use heaplens_tracker::events::next_turn;
use heaplens_tracker::process::settings;
use heaplens_tracker::thread::words::GUARD_COUNTDOWN;
use heaplens_tracker::thread::words::guard_countdown;
use heaplens_tracker::{Caller, Guard, Nesting, tracker};

use crate::c::real;

/// The real functions.
static MALLOC: AtomicUsize = AtomicUsize::new(0);
static CALLOC: AtomicUsize = AtomicUsize::new(0);
static FREE: AtomicUsize = AtomicUsize::new(0);
/// The range of guarded blocks.
static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Puts the functions in their places, where blocks are guarded by turns and most events are passed on.
pub fn watch() {
    let (start, length) = tracker().checks.guards.range();
    let is_wanted =
        matches!(settings().checks.guarding, Guarding::Sample(_)) && settings().sample_interval != 0;
    if !is_wanted || length == 0 || real::OTHER_ALLOCATOR.load(Relaxed) {
        return;
    }
    START.store(start, Relaxed);
    LENGTH.store(length, Relaxed);
    let reals = [real::MALLOC.address(), real::CALLOC.address(), real::FREE.address()];
    for (place, real) in [&MALLOC, &CALLOC, &FREE].into_iter().zip(reals) {
        place.store(real, Relaxed);
    }
    if reals.iter().all(|&real| real != 0) {
        real::MALLOC.replace(malloc_in_turn as *const () as usize);
        real::CALLOC.replace(calloc_in_turn as *const () as usize);
        real::FREE.replace(free_in_turn as *const () as usize);
    }
}

#[unsafe(naked)]
unsafe extern "C" fn malloc_in_turn(_size: usize) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr [rip + heaplens_thread_word@GOTTPOFF]",
        "sub qword ptr fs:[rax + {countdown}], 1",
        "jbe 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "mov rsi, rsp",
        "mov rdx, rbp",
        "jmp {turn}",
        ".cfi_endproc",
        countdown = const GUARD_COUNTDOWN, real = sym MALLOC, turn = sym on_malloc_turn)
}

#[unsafe(naked)]
unsafe extern "C" fn calloc_in_turn(_count: usize, _size: usize) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr [rip + heaplens_thread_word@GOTTPOFF]",
        "sub qword ptr fs:[rax + {countdown}], 1",
        "jbe 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "jmp {turn}",
        ".cfi_endproc",
        countdown = const GUARD_COUNTDOWN, real = sym CALLOC, turn = sym on_calloc_turn)
}

#[unsafe(naked)]
unsafe extern "C" fn free_in_turn(_block: *mut c_void) {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, rdi",
        "sub rax, qword ptr [rip + {start}]",
        "cmp rax, qword ptr [rip + {length}]",
        "jb 2f",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "mov rsi, rsp",
        "mov rdx, rbp",
        "jmp {guarded}",
        ".cfi_endproc",
        start = sym START, length = sym LENGTH, real = sym FREE, guarded = sym on_guarded)
}

unsafe extern "C" fn on_malloc_turn(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    in_turn(size, Caller { rsp, rbp }).unwrap_or_else(|| real_malloc(size))
}

unsafe extern "C" fn on_calloc_turn(count: usize, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let guarded = count.checked_mul(size).and_then(|whole| in_turn(whole, Caller { rsp, rbp }));
    guarded.unwrap_or_else(|| real_calloc(count, size))
}

/// A guarded block, unless it was only the first event of the thread.
#[cold]
fn in_turn(size: usize, caller: Caller) -> Option<*mut c_void> {
    let Guarding::Sample(blocks) = settings().checks.guarding else { return None };
    // SAFETY: the word belongs to this thread; it was 0 before it was stepped down where it never had a turn.
    let is_turn = unsafe { core::mem::replace(&mut *guard_countdown(), next_turn(blocks)) } == 0;
    let guard = Guard::enter(Nesting::Never).filter(|_| is_turn)?;
    tracker().allocate_guarded_in_turn(&guard, size, caller).map(|block| block as *mut c_void)
}

fn real_malloc(size: usize) -> *mut c_void {
    // SAFETY: the real function, which `watch` has put there.
    unsafe {
        let real: unsafe extern "C" fn(usize) -> *mut c_void = core::mem::transmute(MALLOC.load(Relaxed));
        real(size)
    }
}

fn real_calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: as in `real_malloc`.
    unsafe {
        let real: unsafe extern "C" fn(usize, usize) -> *mut c_void =
            core::mem::transmute(CALLOC.load(Relaxed));
        real(count, size)
    }
}

/// Where the thread is inside of a hook, the block stays as it is.
unsafe extern "C" fn on_guarded(block: *mut c_void, rsp: u64, rbp: u64) {
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().free_guarded_in_turn(&guard, block as usize, Caller { rsp, rbp });
    }
}
