//! Blocks of a program that is checked (`heaplens_tracker::checks`): each is larger than it was asked for, and has a canary behind it; freed
//! ones stay for a while; some have pages of their own. The hooks come here instead of going on to the real functions, and only then.
//!
//! Blocks that the program has from elsewhere, or that came before, are in no table: they are passed on as they are.

use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Family;
use heaplens_format::arena::error::CalledFunction;
use heaplens_format::canary::padded;
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::checks::canary;
use heaplens_tracker::events::{AfterFree, Claimed, DEFAULT_ALIGNMENT, Freeing, Wanted};
use heaplens_tracker::{Caller, Guard, Nesting, lifecycle, tracker};

use crate::c::arguments;
use crate::c::real::{self, allocator_nesting};

/// Larger blocks are moved by the real `realloc`, which may not have to copy them. Smaller ones always move, so that who keeps the old address
/// is found out.
const ALWAYS_MOVED: usize = 256 << 10;

/// Whether blocks are checked.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    tracker().checks.is_on()
}

/// A block of this size, by a real function that gets the size to ask for.
#[cold]
#[inline(never)]
pub(crate) fn allocate(
    wanted: Wanted,
    family: Family,
    nesting: Nesting,
    caller: Caller,
    real: &mut dyn FnMut(usize) -> *mut c_void,
) -> *mut c_void {
    let guard = Guard::enter(nesting);
    let guarded = guard.as_ref().and_then(|guard| tracker().allocate_guarded(guard, wanted, caller));
    let block = guarded.map_or_else(|| with_canary(wanted.size, real), |block| block as *mut c_void);
    arguments::clear(block, 0, wanted.size);
    match &guard {
        Some(guard) if !block.is_null() => {
            let addr = Addr::new(block as u64);
            tracker().on_alloc(guard, addr, Bytes::new(wanted.size as u64), family, caller);
        }
        None if block.is_null() => Guard::on_failed_malloc(),
        None => tracker().on_unseen_alloc(Addr::new(block as u64)),
        Some(_) => {}
    }
    block
}

/// A block with its canary, where blocks have any. A size that is too large for one is passed on, to fail as it would.
pub(crate) fn with_canary(size: usize, real: &mut dyn FnMut(usize) -> *mut c_void) -> *mut c_void {
    match padded(size).filter(|_| tracker().checks.has_canaries()) {
        None => real(size),
        Some(whole) => {
            let block = real(whole);
            if !block.is_null() {
                // SAFETY: a fresh block of the padded size, aligned as all blocks are.
                unsafe { canary::place(block as usize, size) };
            }
            block
        }
    }
}

/// Ends a block; `real` is how the program would.
#[cold]
#[inline(never)]
pub(crate) fn release(
    block: *mut c_void,
    nesting: Nesting,
    (by, caller): (Freeing, Caller),
    real: &mut dyn FnMut(),
) {
    let addr = Addr::new(block as u64);
    // Other blocks may be given back as well.
    let guard = Guard::enter(if nesting == Nesting::Never { allocator_nesting() } else { nesting });
    let after = match &guard {
        Some(guard) => tracker().on_checked_free(guard, addr, (by, caller), give_back),
        None => tracker().after_unseen_free(addr), // inside of a hook
    };
    if matches!(after, AfterFree::Free) {
        real();
    }
}

/// Gives a block from the quarantine to the allocator.
fn give_back(block: usize) {
    if let Some(real) = real::FREE.get() {
        // SAFETY: a block that the program freed, and that nobody has freed since.
        unsafe { real(block as *mut c_void) }
    }
}

/// Changes the size of a block, by moving it or by the real function, which gets the size to ask for.
#[cold]
#[inline(never)]
pub(crate) fn reallocate(old: *mut c_void, size: usize, by: Freeing, caller: Caller) -> *mut c_void {
    let Some(guard) = Guard::enter(allocator_nesting()) else {
        return resize_unseen(old, size);
    };
    let addr = Addr::new(old as u64);
    lifecycle::is_recording(&guard); // as in `release`
    let Some(asked) = tracker().asked_size(old as usize) else {
        return resize_unknown(&guard, (old, size), by, caller);
    };
    let is_guarded = tracker().checks.guards.contains(old as usize);
    if size == 0 && !real::OTHER_ALLOCATOR.load(Relaxed) {
        drop(guard);
        release(old, allocator_nesting(), (by, caller), &mut || give_back(old as usize));
        return core::ptr::null_mut();
    }
    let claimed = tracker().before_realloc(&guard, addr, by, caller);
    if let Some((addr, block)) = claimed.map(|claimed| claimed.block()) {
        tracker().check_around(&guard, addr, block, caller);
    }
    let is_large = asked.min(size) > ALWAYS_MOVED && !is_guarded;
    let new = if is_large { resize(old, size) } else { move_block(&guard, old, asked, size, caller) };
    if new.is_null() {
        tracker().after_failed_realloc(claimed);
        drop(guard);
        arguments::check_size(CalledFunction::REALLOC, size, caller);
        return new;
    }
    tracker().after_realloc(&guard, claimed);
    if !is_large && let AfterFree::Free = after_move(&guard, addr, claimed, caller) {
        give_back(old as usize);
    }
    tracker().on_alloc(&guard, Addr::new(new as u64), Bytes::new(size as u64), Family::Malloc, caller);
    new
}

fn after_move(guard: &Guard, addr: Addr, claimed: Option<Claimed>, caller: Caller) -> AfterFree {
    match claimed {
        Some(claimed) => tracker().keep_freed(guard, claimed.block(), caller, give_back),
        None => tracker().after_free_of_none(guard, addr, caller, give_back),
    }
}

fn move_block(guard: &Guard, old: *mut c_void, asked: usize, size: usize, caller: Caller) -> *mut c_void {
    let wanted = Wanted { size, alignment: DEFAULT_ALIGNMENT };
    let guarded = tracker().allocate_guarded(guard, wanted, caller).map(|block| block as *mut c_void);
    let new = guarded.unwrap_or_else(|| with_canary(size, &mut real_malloc));
    if !new.is_null() {
        // SAFETY: both blocks have at least this many bytes, and are different.
        unsafe { core::ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast::<u8>(), asked.min(size)) };
        arguments::clear(new, asked.min(size), size);
    }
    new
}

fn real_malloc(size: usize) -> *mut c_void {
    // SAFETY: an ordinary allocation.
    real::MALLOC.get().map_or(core::ptr::null_mut(), |real| unsafe { real(size) })
}

fn resize(old: *mut c_void, size: usize) -> *mut c_void {
    let Some(real) = real::REALLOC.get() else { return core::ptr::null_mut() };
    // SAFETY: the program's own block.
    with_canary(size, &mut |whole| unsafe { real(old, whole) })
}

/// A block that has neither canary nor guard gets a canary with its new size: it will be in the table.
fn resize_unknown(
    guard: &Guard,
    (old, size): (*mut c_void, usize),
    by: Freeing,
    caller: Caller,
) -> *mut c_void {
    let addr = Addr::new(old as u64);
    let claimed = tracker().before_realloc(guard, addr, by, caller);
    if claimed.is_none() {
        tracker().leave_quarantine(addr, |_| ()); // the allocator still takes it for a block in use
    }
    let is_ended = tracker().checks.guards.contains(old as usize);
    let new = match size {
        _ if is_ended => with_canary(size, &mut real_malloc),
        0 => real::REALLOC.get().map_or(core::ptr::null_mut(), |real| {
            // SAFETY: the real function with the program's own arguments.
            unsafe { real(old, 0) }
        }),
        _ => resize(old, size),
    };
    if new.is_null() && size != 0 {
        tracker().after_failed_realloc(claimed);
        return new;
    }
    tracker().after_realloc(guard, claimed);
    if !new.is_null() && size != 0 {
        tracker().on_alloc(guard, Addr::new(new as u64), Bytes::new(size as u64), Family::Malloc, caller);
    }
    new
}

/// Inside of a hook.
fn resize_unseen(old: *mut c_void, size: usize) -> *mut c_void {
    let Some(real) = real::REALLOC.get() else { return core::ptr::null_mut() };
    // SAFETY: the real function with the program's own arguments.
    let new = unsafe { real(old, size) };
    if !new.is_null() {
        tracker().on_unseen_alloc(Addr::new(new as u64));
    }
    new
}
