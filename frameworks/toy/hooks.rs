//! The pool of the framework of the tests: plain functions of C, that its library calls by name.

use core::ffi::c_void;

use heaplens_format::memory::Allocator;
use heaplens_tracker::Caller;

use crate::c::export::export;
use crate::interposed::{ByCaller, name};
use crate::pools::{before_part_ends, on_part, take_region};

type Take = unsafe extern "C" fn(usize) -> *mut c_void;
type Give = unsafe extern "C" fn(*mut c_void);

static TAKE: ByCaller = ByCaller::new(name!("toy_pool_take"));
static GIVE: ByCaller = ByCaller::new(name!("toy_pool_give"));
static REGION: ByCaller = ByCaller::new(name!("toy_pool_region"));

export!(1, toy_pool_take => on_take);
export!(1, toy_pool_give => on_give);
export!(1, toy_pool_region => on_region);

/// The function that ours replaces, for whoever called it; `None` as in `real::of_framework`.
unsafe fn real(function: &ByCaller, rsp: u64) -> Option<u64> {
    // SAFETY: at the entry of a function the stack pointer is at the return address.
    function.of(unsafe { (rsp as *const u64).read() })
}

unsafe extern "C" fn on_take(size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    // SAFETY: called by `export!` with the registers of the caller.
    let Some(real) = (unsafe { real(&TAKE, rsp) }) else { return core::ptr::null_mut() };
    // SAFETY: the function of this name has this type, and this is the program's own argument.
    let part = unsafe { core::mem::transmute::<u64, Take>(real)(size) };
    on_part(part, size, Caller { rsp, rbp });
    part
}

unsafe extern "C" fn on_give(part: *mut c_void, rsp: u64, _rbp: u64) {
    // SAFETY: as for `on_take`.
    let Some(real) = (unsafe { real(&GIVE, rsp) }) else { return };
    before_part_ends(part);
    // SAFETY: as in the other direction.
    unsafe { core::mem::transmute::<u64, Give>(real)(part) }
}

unsafe extern "C" fn on_region(size: usize, rsp: u64, _rbp: u64) -> *mut c_void {
    // SAFETY: as for `on_take`.
    let Some(real) = (unsafe { real(&REGION, rsp) }) else { return core::ptr::null_mut() };
    // SAFETY: the function of this name has this type, and this is the program's own argument.
    let take = || unsafe { core::mem::transmute::<u64, Take>(real)(size) };
    take_region(Allocator::FrameworkPool, || true, take, || size)
}
