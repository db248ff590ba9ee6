//! C++'s operators. The family of a block is kept, so that a later check can tell `new[]` from `new`.
//!
//! `operator new` throws, and no exception may pass a Rust frame or leave a guard held. So the real operator is called
//! from a frame in assembly, whose personality routine drops the guard when an exception passes:
//!
//! ```text
//!   _Znwm ─▶ heaplens_new ─▶ before_new (guard)
//!                  │  ├─ inside a hook already ─▶ jumps to the real operator, no frame left
//!                  │  ╰─ calls the real operator ──── exception ──▶ personality: guard dropped, goes on to the program
//!                  ╰──▶ after_new (record, guard dropped)
//! ```
//!
//! Where the operators are plain (`plain`), they need none of this: `malloc` does not throw. Only when it gives nothing is
//! the slow path taken, from its begin, where the real operator asks the new-handler or throws.
//!
//! ```text
//!   _Znwm ─▶ on_plain_new (guard, real malloc, record) ─── null ──▶ heaplens_new, as above
//! ```

use core::arch::{global_asm, naked_asm};
use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Family;
use heaplens_format::arena::error::CalledFunction;
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::events::{DEFAULT_ALIGNMENT, Freeing, Wanted};
use heaplens_tracker::thread::guard::passes_by;
use heaplens_tracker::{Caller, Guard, Nesting, tracker};

use crate::c::arguments::{self, IS_MEMCHECK};
use crate::c::checked;
use crate::c::export::export;
use crate::c::malloc::{is_not_ours, release};
use crate::c::real::{self, Real, allocator_nesting};
use crate::cxx::plain::{self, PLAIN, is_plain};
use crate::start::is_ready;

/// All forms take the size first; what follows (alignment, nothrow tag) is passed on as it came.
type New = unsafe extern "C" fn(usize, usize, usize) -> *mut c_void;
type Delete = unsafe extern "C" fn(*mut c_void, usize);

/// Where the operators are when a program loaded its C++ library into a scope of its own, as Python does.
const CXX_LIBRARIES: [&CStr; 3] = [c"libstdc++.so.6", c"libc++abi.so.1", c"libc++.so.1"];

/// A form of `operator new`.
struct Operator {
    real: Real<New>,
    family: Family,
}

const fn operator(symbol: &'static CStr, family: Family) -> Operator {
    Operator { real: Real::new(symbol), family }
}

static OPERATORS: [Operator; 8] = [
    operator(c"_Znwm", Family::New),
    operator(c"_Znam", Family::NewArray),
    operator(c"_ZnwmRKSt9nothrow_t", Family::New),
    operator(c"_ZnamRKSt9nothrow_t", Family::NewArray),
    operator(c"_ZnwmSt11align_val_t", Family::AlignedNew),
    operator(c"_ZnamSt11align_val_t", Family::AlignedNewArray),
    operator(c"_ZnwmSt11align_val_tRKSt9nothrow_t", Family::AlignedNew),
    operator(c"_ZnamSt11align_val_tRKSt9nothrow_t", Family::AlignedNewArray),
];

/// Exports the forms; each hands its number in [`OPERATORS`] to `heaplens_new`.
macro_rules! export_new {
    ($($name:ident = $number:literal;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(".cfi_startproc", "mov r11d, {number}", "jmp heaplens_new", ".cfi_endproc", number = const $number)
        }
    )*};
}

/// Exports the forms that have a fast path. The arguments are kept for the slow one.
macro_rules! export_plain_new {
    ($($name:ident = $number:literal => $hook:ident;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "cmp byte ptr [rip + {plain}], 0",
                "je 2f",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "lea rsi, [rsp + 24]", // where the return address is
                "mov rdx, rbp",
                "call {hook}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "jz 2f",
                "ret",
                "2:",
                "mov r11d, {number}",
                "jmp heaplens_new",
                ".cfi_endproc",
                plain = sym PLAIN,
                hook = sym $hook,
                number = const $number,
            )
        }
    )*};
}

export_plain_new! {
    _Znwm = 0 => on_plain_new;
    _Znam = 1 => on_plain_new_array;
    _ZnwmRKSt9nothrow_t = 2 => on_plain_new;
    _ZnamRKSt9nothrow_t = 3 => on_plain_new_array;
}

export_new! {
    _ZnwmSt11align_val_t = 4;
    _ZnamSt11align_val_t = 5;
    _ZnwmSt11align_val_tRKSt9nothrow_t = 6;
    _ZnamSt11align_val_tRKSt9nothrow_t = 7;
}

unsafe extern "C" fn on_plain_new(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    plain_new(size, Family::New, rsp, rbp)
}

unsafe extern "C" fn on_plain_new_array(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    plain_new(size, Family::NewArray, rsp, rbp)
}

/// What libstdc++'s operators do as long as there is memory. Null: the slow path, which tries again.
#[inline(always)]
fn plain_new(size: usize, family: Family, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::MALLOC.get() else { return core::ptr::null_mut() };
    if passes_by(size) {
        // SAFETY: an ordinary allocation.
        return unsafe { real(size.max(1)) };
    }
    plain_new_recorded(size, family, rsp, rbp, real)
}

/// Apart, so that an event that needs nothing is a few instructions and the real call.
#[inline(never)]
fn plain_new_recorded(
    size: usize,
    family: Family,
    rsp: u64,
    rbp: u64,
    real: unsafe extern "C" fn(usize) -> *mut c_void,
) -> *mut c_void {
    if checked::is_on() {
        let wanted = Wanted { size, alignment: DEFAULT_ALIGNMENT };
        // SAFETY: as below.
        let mut real = |size: usize| unsafe { real(size.max(1)) };
        return checked::allocate(wanted, family, allocator_nesting(), Caller { rsp, rbp }, &mut real);
    }
    let guard = Guard::enter(Nesting::Never);
    // SAFETY: an ordinary allocation; a block of no bytes has an address of its own, too.
    let block = unsafe { real(size.max(1)) };
    arguments::clear(block, 0, size);
    let addr = Addr::new(block as u64);
    match &guard {
        _ if block.is_null() => {}
        Some(guard) => {
            tracker().on_alloc(guard, addr, Bytes::new(size as u64), family, Caller { rsp, rbp });
        }
        None => tracker().on_unseen_alloc(addr),
    }
    block
}

// rdi, rsi, rdx: the program's arguments; r11: the number of the form; at the entry rsp points to the return address.
global_asm!(
    ".text",
    ".hidden heaplens_new",
    ".globl heaplens_new",
    ".type heaplens_new,@function",
    "heaplens_new:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}", // pc-relative, four bytes
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "push r11",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "mov edi, r11d",
    "call {before}", // rax: the real operator, rdx: 1 when we hold the guard
    "test rdx, rdx",
    "mov rdx, [rsp + 16]",
    "mov rsi, [rsp + 24]",
    "mov rdi, [rsp + 32]",
    "jnz 2f",
    ".cfi_remember_state",
    "add rsp, 40",
    ".cfi_adjust_cfa_offset -40",
    "jmp rax",
    ".cfi_restore_state",
    "2:",
    "call rax",
    "mov rdi, rax",
    "mov rsi, [rsp + 32]",
    "mov edx, [rsp + 8]",
    "lea rcx, [rsp + 40]",
    "mov r8, rbp",
    "call {after}",
    "add rsp, 40",
    ".cfi_adjust_cfa_offset -40",
    "ret",
    ".cfi_endproc",
    ".size heaplens_new, . - heaplens_new",
    before = sym before_new,
    after = sym after_new,
    personality = sym personality,
);

/// What `before_new` answers, in rax and rdx.
#[repr(C)]
struct Start {
    real: New,
    holds_guard: usize,
}

extern "C" fn before_new(number: u32) -> Start {
    let ready = is_ready();
    let operator = &OPERATORS[number as usize & 7];
    let found = operator.real.get().or_else(|| find_late(operator));
    if ready && number < 4 && checked::is_on() && is_plain() && real::OTHER_ALLOCATOR.load(Relaxed) {
        // There was no memory, and what the allocator's own operator finds now has no canary.
        tracker().trust(&plain::FAMILIES, false);
    }
    let guard = if ready { Guard::enter(Nesting::New) } else { None };
    let holds_guard = usize::from(guard.is_some());
    core::mem::forget(guard); // `after_new` or `personality` resumes it
    Start { real: found.unwrap_or(new_by_malloc), holds_guard }
}

/// The first call of a form, and every call of one that is not to be found. What the dynamic linker allocates and frees
/// meanwhile is recorded: some of it is older or lives longer than this call.
#[cold]
fn find_late(operator: &Operator) -> Option<New> {
    let found = operator.real.get_late(&CXX_LIBRARIES);
    if found.is_some() && is_ready() {
        plain::check(&CXX_LIBRARIES);
    }
    found
}

extern "C" fn after_new(block: *mut c_void, size: usize, number: u32, rsp: u64, rbp: u64) -> *mut c_void {
    // SAFETY: `heaplens_new` comes here only when `before_new` took the guard, on this thread.
    let held = unsafe { Guard::resume_new() };
    if block.is_null() {
        return block;
    }
    let addr = Addr::new(block as u64);
    let guard = held.or_else(|| {
        // The first try failed and a new-handler found memory: the `malloc` inside recorded the block as its own.
        let guard = Guard::enter(Nesting::Never);
        guard.inspect(|guard| tracker().forget(guard, addr))
    });
    if let Some(guard) = &guard {
        let family = OPERATORS[number as usize & 7].family;
        if number >= 4 && checked::is_on() {
            tracker().place_canary(addr, Bytes::new(size as u64), family);
        }
        tracker().on_alloc(guard, addr, Bytes::new(size as u64), family, Caller { rsp, rbp });
    }
    block
}

/// An exception passes the frame of `heaplens_new`, which exists only when it took the guard.
extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: usize,
    _context: usize,
) -> c_int {
    const CLEANUP_PHASE: c_int = 2;
    const CONTINUE_UNWIND: c_int = 8;
    if actions & CLEANUP_PHASE != 0 {
        // SAFETY: as above; after this phase the frame is gone.
        drop(unsafe { Guard::resume_new() });
    }
    CONTINUE_UNWIND
}

/// No C++ library is to be found although its operator was called: what every implementation does underneath.
unsafe extern "C" fn new_by_malloc(size: usize, _second: usize, _third: usize) -> *mut c_void {
    // SAFETY: an ordinary allocation.
    real::MALLOC.get().map_or(core::ptr::null_mut(), |real| unsafe { real(size.max(1)) })
}

/// Exports forms of `operator delete` with one further argument at most, which is passed on, and which a call without it does not mind. Each
/// hands the registers at its entry to its hook, as in `c::malloc`.
macro_rules! export_delete {
    ($($name:ident, $hook:ident = $symbol:literal, $function:ident of $family:ident;)*) => {$(
        export!(2, $name => $hook);

        unsafe extern "C" fn $hook(block: *mut c_void, second: usize, rsp: u64, rbp: u64) {
            static REAL: Real<Delete> = Real::new($symbol);
            let by = Freeing::by(CalledFunction::$function, Family::$family, IS_MEMCHECK);
            // SAFETY: the program's own call.
            unsafe { delete(block, second, &REAL, by, Caller { rsp, rbp }) }
        }
    )*};
}

export_delete! {
    _ZdlPv, on_delete = c"_ZdlPv", DELETE of New;
    _ZdaPv, on_delete_array = c"_ZdaPv", DELETE_ARRAY of NewArray;
    _ZdlPvm, on_delete_sized = c"_ZdlPvm", DELETE of New;
    _ZdaPvm, on_delete_array_sized = c"_ZdaPvm", DELETE_ARRAY of NewArray;
    _ZdlPvRKSt9nothrow_t, on_delete_nothrow = c"_ZdlPvRKSt9nothrow_t", DELETE of New;
    _ZdaPvRKSt9nothrow_t, on_delete_array_nothrow = c"_ZdaPvRKSt9nothrow_t", DELETE_ARRAY of NewArray;
    _ZdlPvSt11align_val_t, on_delete_aligned = c"_ZdlPvSt11align_val_t", DELETE of AlignedNew;
    _ZdaPvSt11align_val_t, on_delete_array_aligned = c"_ZdaPvSt11align_val_t", DELETE_ARRAY of AlignedNewArray;
}

/// The forms with three arguments end in those with two: the size only helps an allocator to be quick, the tag is empty.
macro_rules! export_delete_aligned {
    ($($name:ident, $hook:ident(alignment $number:literal) => $inner:ident;)*) => {$(
        export!(3, $name => $hook);

        unsafe extern "C" fn $hook(block: *mut c_void, second: usize, third: usize, rsp: u64, rbp: u64) {
            // SAFETY: the program's own call.
            unsafe { $inner(block, [second, third][$number], rsp, rbp) }
        }
    )*};
}

export_delete_aligned! {
    _ZdlPvmSt11align_val_t, on_delete_sized_aligned(alignment 1) => on_delete_aligned;
    _ZdaPvmSt11align_val_t, on_delete_array_sized_aligned(alignment 1) => on_delete_array_aligned;
    _ZdlPvSt11align_val_tRKSt9nothrow_t, on_delete_aligned_nothrow(alignment 0) => on_delete_aligned;
    _ZdaPvSt11align_val_tRKSt9nothrow_t, on_delete_array_aligned_nothrow(alignment 0) => on_delete_array_aligned;
}

#[inline(always)]
unsafe fn delete(block: *mut c_void, second: usize, real: &Real<Delete>, by: Freeing, caller: Caller) {
    if is_plain()
        && let Some(real) = real::FREE.get()
    {
        if is_not_ours(block) {
            // SAFETY: plain operators end in `free`, whichever form it is.
            return unsafe { real(block) };
        }
        return plain_delete_recorded(block, real, by, caller);
    }
    if !is_ready() {
        return;
    }
    let real = real.get().or_else(|| find_late_delete(real));
    release(block, Nesting::Expected, by, caller, || match real {
        // SAFETY: the real function with the program's own arguments.
        Some(real) => unsafe { real(block, second) },
        None => free_block(block),
    });
}

#[inline(never)]
fn plain_delete_recorded(
    block: *mut c_void,
    real: unsafe extern "C" fn(*mut c_void),
    by: Freeing,
    caller: Caller,
) {
    // SAFETY: as in `delete`.
    release(block, Nesting::Never, by, caller, || unsafe { real(block) });
}

/// As for `new`: a program may begin with a `delete`.
#[cold]
fn find_late_delete(real: &Real<Delete>) -> Option<Delete> {
    let found = real.get_late(&CXX_LIBRARIES);
    if found.is_some() {
        plain::check(&CXX_LIBRARIES);
    }
    found
}

#[cold]
fn free_block(block: *mut c_void) {
    if let Some(real) = real::FREE.get() {
        // SAFETY: what every implementation does underneath.
        unsafe { real(block) }
    }
}
