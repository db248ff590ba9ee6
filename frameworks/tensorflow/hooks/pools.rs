//! TensorFlow's pools: who hands out parts, and who takes regions for them (`crate::pools`).
//!
//! ```text
//!   pool.AllocateRaw ─▶ a part ─▶ pool.DeallocateRaw
//!        └─ full ─▶ BasicCPUAllocator.Alloc ─▶ malloc: a region ─▶ BasicCPUAllocator.Free
//! ```
//!
//! All of them are called through virtual tables, which the dynamic linker fills in by name. A region is noted while the pool that
//! asked for it holds its lock: nobody has a part of it before. Where no library has the real function (`real::of_framework` says
//! when that is), a pool is out of memory, and nothing can be given back to it.

use core::ffi::c_void;

use heaplens_format::memory::Allocator;
use heaplens_tracker::{Caller, modules};

use crate::c::export::export;
use crate::interposed::{ByTable, name, table_of};
use crate::pools::{before_part_ends, give_region_back, on_part, take_region};

type Allocate = unsafe extern "C-unwind" fn(*const u64, usize, usize, *const c_void) -> *mut c_void;
type Deallocate = unsafe extern "C-unwind" fn(*const u64, *mut c_void);
type Alloc = unsafe extern "C-unwind" fn(*const u64, usize, usize, *mut usize) -> *mut c_void;
type Free = unsafe extern "C-unwind" fn(*const u64, *mut c_void, usize);

/// A pool: how it hands out a part and how it takes it back. `AllocateRaw` has up to four arguments, of which those that it does
/// not have are whatever the registers held.
macro_rules! pool {
    ($real:ident, $allocate:ident => $on_allocate:ident, $deallocate:ident) => {
        mod $real {
            use super::*;
            pub(super) static ALLOCATE: ByTable = ByTable::new(name!(stringify!($allocate)));
            pub(super) static DEALLOCATE: ByTable = ByTable::new(name!(stringify!($deallocate)));
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

static ALLOC: ByTable = ByTable::new(name!("_ZN10tensorflow17BasicCPUAllocator5AllocEmmPm"));
static FREE: ByTable = ByTable::new(name!("_ZN10tensorflow17BasicCPUAllocator4FreeEPvm"));

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
    // SAFETY: the program's own arguments; on success the length was written there.
    take_region(
        Allocator::FrameworkPool,
        || parts_are_seen(source),
        || unsafe { real(source, alignment, size, received) },
        || unsafe { received.read() },
    )
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
    // SAFETY: the program's own arguments.
    give_region_back(region, size, || unsafe { real(source, region, size) });
}

/// Whether this library's pools come through our hooks.
fn parts_are_seen(source: *const u64) -> bool {
    let names = [bfc::ALLOCATE.name(), older_bfc::ALLOCATE.name()];
    names.iter().any(|name| modules::defined_beside(table_of(source), name).is_some())
}
