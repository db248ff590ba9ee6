//! Pools of frameworks. They take memory in large regions and hand out parts of it: to `malloc` a region is one block of whoever
//! happened to need more, for good. So a region is no block here, and its parts are, each with the line that asked for it.
//!
//! ```text
//!   pool hands out ─▶ a part, recorded as a block of the heap ─▶ pool takes it back
//!        └─ full ─▶ pool takes a region ─▶ malloc, not recorded: the region is noted ─▶ pool gives it back
//! ```
//!
//! Which functions do so is known to a framework's hooks. A region must be noted before anybody has a part of it.

use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::memory::Allocator;
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, Guard, Nesting, tracker};

use crate::c::real;
use crate::start::knows_frameworks;

/// A pool hands out a part: after it did.
#[inline]
pub(crate) fn on_part(part: *mut c_void, size: usize, caller: Caller) {
    if part.is_null() || !knows_frameworks() {
        return;
    }
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_pool_part(&guard, Addr::new(part as u64), Bytes::new(size as u64), caller);
    }
}

/// A pool takes a part back: before it does, since afterwards it may be somebody else's.
#[inline]
pub(crate) fn before_part_ends(part: *mut c_void) {
    if part.is_null() || !knows_frameworks() {
        return;
    }
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_pool_part_end(&guard, Addr::new(part as u64));
    }
}

/// A pool takes a region, whose length is reported once it is there. Where its parts do not come through hooks, it stays a block.
pub(crate) fn take_region(
    pool: Allocator,
    are_parts_seen: impl FnOnce() -> bool,
    take: impl FnOnce() -> *mut c_void,
    length: impl FnOnce() -> usize,
) -> *mut c_void {
    let guard = if knows_frameworks() && are_parts_seen() { Guard::enter(Nesting::Expected) } else { None };
    let region = take();
    if let Some(guard) = guard.filter(|_| !region.is_null()) {
        tracker().on_pool_region(&guard, pool, Addr::new(region as u64), Bytes::new(length() as u64));
    }
    region
}

/// A pool gives a region back.
pub(crate) fn give_region_back(region: *mut c_void, length: usize, give_back: impl FnOnce()) {
    let guard = if knows_frameworks() { Guard::enter(Nesting::Expected) } else { None };
    let is_noted = guard.as_ref().is_some_and(|guard| {
        let is_allocators = real::OTHER_ALLOCATOR.load(Relaxed);
        let (start, length) = (Addr::new(region as u64), Bytes::new(length as u64));
        tracker().on_pool_region_end(guard, start, length, is_allocators)
    });
    // What was not noted is a block as any other, whose end is recorded.
    let _guard = guard.filter(|_| is_noted);
    give_back();
}
