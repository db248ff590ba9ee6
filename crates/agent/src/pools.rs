//! TensorFlow's pools. They take memory in large regions and hand out parts of it: to `malloc` a region is one block of whoever
//! happened to need more, for good. So a region is no block here, and its parts are, each with the line that asked for it.
//!
//! ```text
//!   pool.AllocateRaw ─▶ a part, recorded as a block of the heap ─▶ pool.DeallocateRaw
//!        └─ full ─▶ BasicCPUAllocator.Alloc ─▶ malloc, not recorded: the region is noted ─▶ BasicCPUAllocator.Free
//! ```
//!
//! All of them are called through virtual tables, which the dynamic linker fills in by name (see `sessions`). A region is noted
//! while the pool that asked for it holds its lock: nobody has a part of it before.

use core::ffi::{CStr, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, Guard, Nesting, modules, tracker};

use crate::malloc::export;
use crate::{knows_frameworks, real};

/// The real function behind a name of ours: in the library that has the virtual table of this very object. Where there is none
/// (`real::of_framework` says when that is), a pool is out of memory, and nothing can be given back to it.
struct Real {
    name: &'static CStr,
    /// The first table that was seen, and the function for it; both stay.
    table: AtomicU64,
    function: AtomicU64,
}

impl Real {
    const fn new(name: &'static CStr) -> Self {
        Self { name, table: AtomicU64::new(0), function: AtomicU64::new(0) }
    }

    fn of(&self, object: *const u64) -> Option<u64> {
        // SAFETY: an object of a class with virtual functions begins with the address of their table.
        let table = unsafe { object.read() };
        // Acquire: pairs with the Release below. Until then both are 0, as the first word of what is no object may be.
        if self.table.load(Acquire) == table
            && let function @ 1.. = self.function.load(Relaxed)
        {
            return Some(function);
        }
        self.find(table)
    }

    #[cold]
    fn find(&self, table: u64) -> Option<u64> {
        let function = real::of_framework(table, self.name)?;
        if self.function.compare_exchange(0, function, Relaxed, Relaxed).is_ok() {
            self.table.store(table, Release);
        }
        Some(function)
    }
}

type Allocate = unsafe extern "C-unwind" fn(*const u64, usize, usize, *const c_void) -> *mut c_void;
type Deallocate = unsafe extern "C-unwind" fn(*const u64, *mut c_void);
type Alloc = unsafe extern "C-unwind" fn(*const u64, usize, usize, *mut usize) -> *mut c_void;
type Free = unsafe extern "C-unwind" fn(*const u64, *mut c_void, usize);

macro_rules! name {
    ($name:ident) => {
        match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a literal with one zero at its end"),
        }
    };
}
/// A pool: how it hands out a part and how it takes it back. `AllocateRaw` has up to four arguments, of which those that it does
/// not have are whatever the registers held.
macro_rules! pool {
    ($real:ident, $allocate:ident => $on_allocate:ident, $deallocate:ident) => {
        mod $real {
            use super::*;
            pub(super) static ALLOCATE: Real = Real::new(name!($allocate));
            pub(super) static DEALLOCATE: Real = Real::new(name!($deallocate));
        }
        export!(4, $allocate => $on_allocate);

        unsafe extern "C-unwind" fn $on_allocate(
            pool: *const u64,
            alignment: usize,
            size: usize,
            attributes: *const c_void,
            rsp: u64,
            rbp: u64,
        ) -> *mut c_void {
            let Some(real) = $real::ALLOCATE.of(pool) else { return core::ptr::null_mut() };
            // SAFETY: the function of this name has this type, and these are the program's own arguments.
            let part = unsafe {
                core::mem::transmute::<u64, Allocate>(real)(pool, alignment, size, attributes)
            };
            on_part(part, size, Caller { rsp, rbp });
            part
        }

        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $deallocate(pool: *const u64, part: *mut c_void) {
            let Some(real) = $real::DEALLOCATE.of(pool) else { return };
            before_part_ends(part);
            // SAFETY: as in the other direction.
            unsafe { core::mem::transmute::<u64, Deallocate>(real)(pool, part) }
        }
    };
}

pool!(
    bfc,
    _ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE => on_bfc,
    _ZN3tsl12BFCAllocator13DeallocateRawEPv
);
// Up to TensorFlow 2.9.
pool!(
    older_bfc,
    _ZN10tensorflow12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE => on_older_bfc,
    _ZN10tensorflow12BFCAllocator13DeallocateRawEPv
);
pool!(
    by_size,
    _ZN10tensorflow13PoolAllocator11AllocateRawEmm => on_by_size,
    _ZN10tensorflow13PoolAllocator13DeallocateRawEPv
);

static ALLOC: Real = Real::new(name!(_ZN10tensorflow17BasicCPUAllocator5AllocEmmPm));
static FREE: Real = Real::new(name!(_ZN10tensorflow17BasicCPUAllocator4FreeEPvm));

/// A pool takes a region.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZN10tensorflow17BasicCPUAllocator5AllocEmmPm(
    source: *const u64,
    alignment: usize,
    size: usize,
    received: *mut usize,
) -> *mut c_void {
    let Some(real) = ALLOC.of(source) else { return core::ptr::null_mut() };
    // SAFETY: the function of this name has this type.
    let real = unsafe { core::mem::transmute::<u64, Alloc>(real) };
    let guard =
        if knows_frameworks() && parts_are_seen(source) { Guard::enter(Nesting::Expected) } else { None };
    // SAFETY: the program's own arguments.
    let region = unsafe { real(source, alignment, size, received) };
    if let Some(guard) = guard.filter(|_| !region.is_null()) {
        // SAFETY: on success the length was written there.
        let length = unsafe { received.read() };
        tracker().on_pool_region(&guard, Addr::new(region as u64), Bytes::new(length as u64));
    }
    region
}

/// A pool gives a region back.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _ZN10tensorflow17BasicCPUAllocator4FreeEPvm(
    source: *const u64,
    region: *mut c_void,
    size: usize,
) {
    let Some(real) = FREE.of(source) else { return };
    // SAFETY: the function of this name has this type.
    let real = unsafe { core::mem::transmute::<u64, Free>(real) };
    let guard = if knows_frameworks() { Guard::enter(Nesting::Expected) } else { None };
    let is_noted = guard.as_ref().is_some_and(|guard| {
        let is_allocators = real::OTHER_ALLOCATOR.load(Relaxed);
        tracker().on_pool_region_end(guard, Addr::new(region as u64), Bytes::new(size as u64), is_allocators)
    });
    // What was not noted is a block as any other, whose end is recorded.
    let _guard = guard.filter(|_| is_noted);
    // SAFETY: the program's own arguments.
    unsafe { real(source, region, size) }
}

/// Whether this library's pools come through our hooks: where they do not, a region stays a block.
fn parts_are_seen(source: *const u64) -> bool {
    // SAFETY: an object of a class with virtual functions begins with the address of their table.
    let table = unsafe { source.read() };
    let names = [bfc::ALLOCATE.name, older_bfc::ALLOCATE.name];
    names.iter().any(|name| modules::defined_beside(table, name).is_some())
}

fn on_part(part: *mut c_void, size: usize, caller: Caller) {
    if part.is_null() || !knows_frameworks() {
        return;
    }
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_pool_part(&guard, Addr::new(part as u64), Bytes::new(size as u64), caller);
    }
}

/// Before it: afterwards it may be somebody else's.
fn before_part_ends(part: *mut c_void) {
    if part.is_null() || !knows_frameworks() {
        return;
    }
    if let Some(guard) = Guard::enter(Nesting::Never) {
        tracker().on_pool_part_end(&guard, Addr::new(part as u64));
    }
}
