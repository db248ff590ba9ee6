//! The C allocator's functions.
//!
//! Each exported symbol is a naked function that hands the registers at its entry (the stack pointer at the return
//! address, and rbp) to the hook behind it, so that unwinding begins at the caller and costs no prologue.

use core::ffi::{c_int, c_void};

use heaplens_format::arena::error::CalledFunction;
use heaplens_format::arena::{Family, PAGE};
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::events::{DEFAULT_ALIGNMENT, Freeing, Wanted};
use heaplens_tracker::thread::guard::passes_by;
use heaplens_tracker::{Caller, Guard, Nesting, tracker};

use crate::c::arguments::{self, IS_MEMCHECK};
use crate::c::checked;
use crate::c::early_memory;
use crate::c::export::export;
use crate::c::real::{self, allocator_nesting};
use crate::start::is_ready;

export!(1, malloc => on_malloc);
export!(1, free => on_free);
export!(2, calloc => on_calloc);
export!(2, realloc => on_realloc);
export!(3, reallocarray => on_reallocarray);
export!(3, posix_memalign => on_posix_memalign);
export!(2, aligned_alloc => on_aligned_alloc);
export!(2, memalign => on_memalign);
export!(1, valloc => on_valloc);
export!(1, pvalloc => on_pvalloc);
export!(2, free_sized => on_free_sized);
export!(3, free_aligned_sized => on_free_aligned_sized);

/// Guard, real call, record: the path of every allocation. The real function gets the size to ask for.
#[inline(always)]
pub(crate) fn allocate(
    size: usize,
    function: CalledFunction,
    nesting: Nesting,
    rsp: u64,
    rbp: u64,
    real: impl FnMut(usize) -> *mut c_void,
) -> *mut c_void {
    allocate_aligned(
        Wanted { size, alignment: DEFAULT_ALIGNMENT },
        function,
        nesting,
        Caller { rsp, rbp },
        real,
    )
}

#[inline(always)]
fn allocate_aligned(
    wanted: Wanted,
    function: CalledFunction,
    nesting: Nesting,
    caller: Caller,
    mut real: impl FnMut(usize) -> *mut c_void,
) -> *mut c_void {
    let block = match checked::is_on() {
        true => checked::allocate(wanted, Family::Malloc, nesting, caller, &mut real),
        false => allocate_plainly(wanted.size, nesting, caller, real),
    };
    if IS_MEMCHECK && block.is_null() && function != CalledFunction::CALLOC {
        arguments::check_size(function, wanted.size, caller);
    }
    block
}

#[inline(always)]
fn allocate_plainly(
    size: usize,
    nesting: Nesting,
    caller: Caller,
    mut real: impl FnMut(usize) -> *mut c_void,
) -> *mut c_void {
    let guard = Guard::enter(nesting);
    let block = real(size);
    arguments::clear(block, 0, size);
    match &guard {
        Some(guard) if !block.is_null() => {
            let addr = Addr::new(block as u64);
            tracker().on_alloc(guard, addr, Bytes::new(size as u64), Family::Malloc, caller);
        }
        None if block.is_null() => Guard::on_failed_malloc(),
        None => tracker().on_unseen_alloc(Addr::new(block as u64)),
        Some(_) => {}
    }
    block
}

/// Guard, record, real call: the path of every free. The record goes first, since the address may be handed out again.
#[inline(always)]
pub(crate) fn release(
    block: *mut c_void,
    nesting: Nesting,
    by: Freeing,
    caller: Caller,
    mut real: impl FnMut(),
) {
    if block.is_null() || early_memory::owns(block) {
        return;
    }
    if checked::is_on() {
        return checked::release(block, nesting, (by, caller), &mut real);
    }
    let guard = Guard::enter(nesting);
    if let Some(guard) = &guard {
        tracker().on_free(guard, Addr::new(block as u64), by, caller);
    }
    if nesting == Nesting::Never {
        drop(guard); // nothing is left to guard, and the real call can be a jump
        return real();
    }
    real();
}

unsafe extern "C" fn on_malloc(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    match real::MALLOC.get() {
        // SAFETY: the real function with the program's own argument.
        Some(real) if passes_by(size) => unsafe { real(size) },
        _ => malloc_recorded(size, rsp, rbp),
    }
}

/// Apart, so that an event that needs nothing is a few instructions and a jump.
#[inline(never)]
fn malloc_recorded(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    if !is_ready() {
        return early_memory::allocate(size);
    }
    let Some(real) = real::MALLOC.get() else { return early_memory::allocate(size) };
    // SAFETY: the real function with the program's own argument.
    allocate(size, CalledFunction::MALLOC, allocator_nesting(), rsp, rbp, |size| unsafe { real(size) })
}

unsafe extern "C" fn on_calloc(count: usize, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    match real::CALLOC.get() {
        // SAFETY: the real function with the program's own arguments.
        Some(real) if passes_by(count.saturating_mul(size)) => unsafe { real(count, size) },
        _ => calloc_recorded(count, size, rsp, rbp),
    }
}

#[inline(never)]
fn calloc_recorded(count: usize, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let whole = count.saturating_mul(size);
    if !is_ready() {
        return early_memory::allocate(whole);
    }
    let Some(real) = real::CALLOC.get() else { return early_memory::allocate(whole) };
    // SAFETY: the real function with the program's own arguments, or with as many bytes in one piece.
    let block = allocate(whole, CalledFunction::CALLOC, allocator_nesting(), rsp, rbp, |asked| unsafe {
        if asked == whole { real(count, size) } else { real(1, asked) }
    });
    if block.is_null() {
        arguments::check_calloc(count, size, Caller { rsp, rbp });
    }
    block
}

unsafe extern "C" fn on_realloc(old: *mut c_void, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::REALLOC.get().filter(|_| is_ready()) else { return early_memory::allocate(size) };
    // SAFETY: the real function with the program's own arguments.
    reallocate(old, size, rsp, rbp, || unsafe { real(old, size) })
}

unsafe extern "C" fn on_reallocarray(
    old: *mut c_void,
    count: usize,
    size: usize,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    let whole = count.saturating_mul(size);
    let Some(real) = real::REALLOC.get().filter(|_| is_ready()) else { return early_memory::allocate(whole) };
    if count.checked_mul(size).is_none() {
        return match real::REALLOCARRAY.get() {
            // SAFETY: the real function fails on overflow and sets errno.
            Some(real) => unsafe { real(old, count, size) },
            None => core::ptr::null_mut(),
        };
    }
    // SAFETY: without overflow this is what reallocarray does.
    reallocate(old, whole, rsp, rbp, || unsafe { real(old, whole) })
}

/// The old block is claimed before the real call, since its address may be handed out during it, and settled after.
#[inline(always)]
fn reallocate(
    old: *mut c_void,
    size: usize,
    rsp: u64,
    rbp: u64,
    real: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if old.is_null() {
        let Some(real) = real::MALLOC.get() else { return core::ptr::null_mut() };
        // SAFETY: an ordinary allocation, as `realloc` makes it of nothing.
        return allocate(size, CalledFunction::REALLOC, allocator_nesting(), rsp, rbp, |size| unsafe {
            real(size)
        });
    }
    if early_memory::owns(old) {
        return move_from_boot(old, size, rsp, rbp);
    }
    if size == 0 {
        arguments::check_realloc_to_zero(old, Caller { rsp, rbp });
    }
    let by = Freeing::by(CalledFunction::REALLOC, Family::Malloc, IS_MEMCHECK);
    let caller = Caller { rsp, rbp };
    if checked::is_on() {
        return checked::reallocate(old, size, by, caller);
    }
    let Some(guard) = Guard::enter(allocator_nesting()) else { return reallocate_unseen(real) };
    let claimed = tracker().before_realloc(&guard, Addr::new(old as u64), by, caller);
    let new = real();
    if new.is_null() && size != 0 {
        tracker().after_failed_realloc(claimed);
        return fail_to_reallocate(guard, size, Caller { rsp, rbp });
    }
    arguments::clear(new, claimed.as_ref().map_or(size, |block| block.size().get() as usize), size);
    tracker().after_realloc(&guard, claimed);
    if !new.is_null() {
        let addr = Addr::new(new as u64);
        tracker().on_alloc(&guard, addr, Bytes::new(size as u64), Family::Malloc, Caller { rsp, rbp });
    }
    new
}

#[cold]
fn fail_to_reallocate(guard: Guard, size: usize, caller: Caller) -> *mut c_void {
    drop(guard);
    arguments::check_size(CalledFunction::REALLOC, size, caller);
    core::ptr::null_mut()
}

#[cold]
fn reallocate_unseen(real: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let new = real();
    if !new.is_null() {
        tracker().on_unseen_alloc(Addr::new(new as u64));
    }
    new
}

#[cold]
fn move_from_boot(old: *mut c_void, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    // SAFETY: an ordinary allocation in the name of the caller.
    let new = unsafe { on_malloc(size, rsp, rbp) };
    if !new.is_null() {
        // SAFETY: both blocks have at least this many bytes and are different.
        unsafe {
            core::ptr::copy_nonoverlapping(
                old.cast::<u8>(),
                new.cast::<u8>(),
                size.min(early_memory::size_of(old)),
            )
        };
    }
    new
}

unsafe extern "C" fn on_posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    size: usize,
    rsp: u64,
    rbp: u64,
) -> c_int {
    let Some(real) = real::POSIX_MEMALIGN.get().filter(|_| is_ready()) else { return libc::ENOMEM };
    let mut status = 0;
    let block = allocate_aligned(
        wanted_by_posix(alignment, size),
        CalledFunction::POSIX_MEMALIGN,
        allocator_nesting(),
        Caller { rsp, rbp },
        |size| {
            // SAFETY: the real function with the program's own arguments; on success it wrote the block to `result`.
            unsafe {
                status = real(result, alignment, size);
                if status == 0 { *result } else { core::ptr::null_mut() }
            }
        },
    );
    if !block.is_null() {
        // SAFETY: as for the real function, which may not have been asked.
        unsafe { *result = block };
    }
    status
}

/// A block with an alignment of its own. One that is no power of two becomes 0: then the block gets no guard page, and the real function decides.
fn wanted(alignment: usize, size: usize) -> Wanted {
    let is_usual = alignment.is_power_of_two();
    Wanted { size, alignment: if is_usual { alignment.max(DEFAULT_ALIGNMENT) } else { 0 } }
}

/// POSIX allows multiples of a pointer's size alone.
fn wanted_by_posix(alignment: usize, size: usize) -> Wanted {
    wanted(if alignment < size_of::<*mut c_void>() { 0 } else { alignment }, size)
}

unsafe extern "C" fn on_aligned_alloc(alignment: usize, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::ALIGNED_ALLOC.get().filter(|_| is_ready()) else { return core::ptr::null_mut() };
    let caller = Caller { rsp, rbp };
    // SAFETY: the real function with the program's own arguments.
    allocate_aligned(
        wanted(alignment, size),
        CalledFunction::ALIGNED_ALLOC,
        allocator_nesting(),
        caller,
        |size| unsafe { real(alignment, size) },
    )
}

unsafe extern "C" fn on_memalign(alignment: usize, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::MEMALIGN.get().filter(|_| is_ready()) else { return core::ptr::null_mut() };
    let caller = Caller { rsp, rbp };
    // SAFETY: the real function with the program's own arguments.
    allocate_aligned(
        wanted(alignment, size),
        CalledFunction::MEMALIGN,
        allocator_nesting(),
        caller,
        |size| unsafe { real(alignment, size) },
    )
}

unsafe extern "C" fn on_valloc(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::VALLOC.get().filter(|_| is_ready()) else { return core::ptr::null_mut() };
    // SAFETY: the real function with the program's own argument.
    allocate_aligned(
        wanted(PAGE, size),
        CalledFunction::VALLOC,
        allocator_nesting(),
        Caller { rsp, rbp },
        |size| unsafe { real(size) },
    )
}

unsafe extern "C" fn on_pvalloc(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    let Some(real) = real::PVALLOC.get().filter(|_| is_ready()) else { return core::ptr::null_mut() };
    // Whole pages: the program may use all of the last one.
    let size = if checked::is_on() { size.next_multiple_of(PAGE) } else { size };
    // SAFETY: the real function with the program's own argument.
    allocate_aligned(
        wanted(PAGE, size),
        CalledFunction::PVALLOC,
        allocator_nesting(),
        Caller { rsp, rbp },
        |size| unsafe { real(size) },
    )
}

/// # Safety
/// As glibc's: a block, or null. What the program asked for is what it may use.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if is_ready()
        && checked::is_on()
        && !block.is_null()
        && let Some(asked) = tracker().asked_size(block as usize)
    {
        return asked;
    }
    if early_memory::owns(block) {
        return early_memory::size_of(block);
    }
    // SAFETY: the real function with the program's own argument.
    real::MALLOC_USABLE_SIZE.get().map_or(0, |real| unsafe { real(block) })
}

unsafe extern "C" fn on_free(block: *mut c_void, rsp: u64, rbp: u64) {
    // SAFETY: at the entry of `free` rsp points to the return address.
    let is_loaders = real::is_in_loader(unsafe { (rsp as *const usize).read() });
    match real::FREE.get() {
        // SAFETY: the real function with the program's own argument.
        Some(real) if !is_loaders && is_not_ours(block) => unsafe { real(block) },
        _ => free_recorded(block, is_loaders, rsp, rbp),
    }
}

/// Whether neither the tables nor the memory of the start know this block.
#[inline(always)]
pub(crate) fn is_not_ours(block: *mut c_void) -> bool {
    tracker().surely_lacks(Addr::new(block as u64)) && !early_memory::owns(block)
}

#[inline(never)]
fn free_recorded(block: *mut c_void, is_loaders: bool, rsp: u64, rbp: u64) {
    let Some(real) = real::FREE.get().filter(|_| is_ready()) else { return };
    if is_loaders {
        tracker().unwinder.suspect_unload(); // the dynamic linker frees what it knew of a library, and much else
    }
    let by =
        Freeing { is_checked: !is_loaders, ..Freeing::by(CalledFunction::FREE, Family::Malloc, IS_MEMCHECK) };
    // SAFETY: the real function with the program's own argument.
    release(block, allocator_nesting(), by, Caller { rsp, rbp }, || unsafe { real(block) });
}

/// C23's sized frees, without a caller that could be the dynamic linker.
unsafe extern "C" fn on_free_sized(block: *mut c_void, _size: usize, rsp: u64, rbp: u64) {
    if real::FREE.get().is_some() {
        free_recorded(block, false, rsp, rbp);
    }
}

unsafe extern "C" fn on_free_aligned_sized(
    block: *mut c_void,
    _alignment: usize,
    _size: usize,
    rsp: u64,
    rbp: u64,
) {
    if real::FREE.get().is_some() {
        free_recorded(block, false, rsp, rbp);
    }
}
