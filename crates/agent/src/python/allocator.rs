//! Hooks of Python's allocator of small objects: they are cut out of arenas, so that `malloc` never sees them.
//!
//! It is taken through `PyMem_SetAllocator`, which wants the interpreter's lock: an audit hook has it.

use core::ffi::{c_int, c_void};

use heaplens_cpython::pools::LARGEST_SMALL;
use heaplens_format::arena::Pseudo;
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::thread::{guard, words};
use heaplens_tracker::{Caller, modules, tracker};

/// Python's allocator passes on what is larger.
const LARGEST_OBJECT: usize = LARGEST_SMALL as usize;

type ExchangeAllocator = unsafe extern "C" fn(c_int, *mut Allocator);

type Malloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// `PyMemAllocatorEx`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Allocator {
    context: *mut c_void,
    malloc: Malloc,
    calloc: Calloc,
    realloc: Realloc,
    free: Free,
}

/// The allocator that ours stands before, in one domain: its context is the address of this.
struct OriginalAllocator(core::cell::UnsafeCell<Option<Allocator>>);
// SAFETY: written once, under the interpreter's lock, before the allocator that reads it is put in place.
unsafe impl Sync for OriginalAllocator {}

/// Of the domains `PYMEM_DOMAIN_MEM` and `PYMEM_DOMAIN_OBJ`.
static ORIGINALS: [OriginalAllocator; 2] = [
    OriginalAllocator(core::cell::UnsafeCell::new(None)),
    OriginalAllocator(core::cell::UnsafeCell::new(None)),
];
const DOMAINS: [c_int; 2] = [1, 2];

/// The two functions that read and change the allocator of a domain. Both want the interpreter's lock.
#[derive(Clone, Copy)]
struct Exchange {
    get: ExchangeAllocator,
    set: ExchangeAllocator,
}

impl Exchange {
    fn find() -> Option<Self> {
        let exports = modules::exporting(c"PyMem_SetAllocator")?;
        let (get, set) = (exports.find(c"PyMem_GetAllocator")?, exports.find(c"PyMem_SetAllocator")?);
        // SAFETY: the functions of these names have this type.
        unsafe {
            Some(Self {
                get: core::mem::transmute::<u64, ExchangeAllocator>(get.address),
                set: core::mem::transmute::<u64, ExchangeAllocator>(set.address),
            })
        }
    }

    /// # Safety
    /// The interpreter's lock is held.
    unsafe fn get(self, domain: c_int) -> Allocator {
        let mut allocator = core::mem::MaybeUninit::<Allocator>::uninit();
        // SAFETY: as the caller says; the function fills the struct.
        unsafe {
            (self.get)(domain, allocator.as_mut_ptr());
            allocator.assume_init()
        }
    }

    /// # Safety
    /// The interpreter's lock is held, and the allocator knows what to do with blocks of the present one.
    unsafe fn set(self, domain: c_int, mut allocator: Allocator) {
        // SAFETY: as the caller says; the function copies the struct.
        unsafe { (self.set)(domain, &mut allocator) };
    }
}

/// Puts our allocator before Python's. Called once, in an audit hook.
pub fn install() {
    let Some(exchange) = Exchange::find() else { return };
    for (domain, original) in DOMAINS.into_iter().zip(&ORIGINALS) {
        // SAFETY: the lock is held inside an audit hook; ours passes everything on to the original.
        unsafe {
            *original.0.get() = Some(exchange.get(domain));
            exchange.set(domain, recording(original));
        }
    }
    tracker().begin_objects();
}

/// Makes objects for `work` that are not recorded: they are ours. Blocks that it takes from `malloc` are recorded all the
/// same, since the interpreter keeps some of them for its own use, and their end would be that of an unknown block.
///
/// # Safety
/// The interpreter's lock is held, and `work` keeps it.
pub unsafe fn without_recording<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: as the caller says; ours and the silent one pass on to the same original.
    unsafe {
        exchange_own(recording, silent);
        let result = work();
        exchange_own(silent, recording);
        result
    }
}

/// Replaces our allocator where it is the outermost. After another one, such as that of `tracemalloc`, it stays.
///
/// # Safety
/// The interpreter's lock is held.
unsafe fn exchange_own(
    from: impl Fn(&OriginalAllocator) -> Allocator,
    to: impl Fn(&OriginalAllocator) -> Allocator,
) {
    let Some(exchange) = Exchange::find() else { return };
    for (domain, original) in DOMAINS.into_iter().zip(&ORIGINALS) {
        // SAFETY: as the caller says.
        unsafe {
            let present = exchange.get(domain);
            let expected = from(original);
            if present.context == expected.context && present.malloc as usize == expected.malloc as usize {
                exchange.set(domain, to(original));
            }
        }
    }
}

/// Ours, before this original.
fn recording(original: &OriginalAllocator) -> Allocator {
    // SAFETY: the functions pass their arguments and the caller's registers on; nobody calls them with others.
    let (malloc, calloc, realloc) = unsafe {
        (
            core::mem::transmute::<unsafe extern "C" fn(), Malloc>(object_malloc),
            core::mem::transmute::<unsafe extern "C" fn(), Calloc>(object_calloc),
            core::mem::transmute::<unsafe extern "C" fn(), Realloc>(object_realloc),
        )
    };
    Allocator { context: original.context(), malloc, calloc, realloc, free: object_free }
}

/// The same, which reports no new objects.
fn silent(original: &OriginalAllocator) -> Allocator {
    Allocator {
        context: original.context(),
        malloc: silent_malloc,
        calloc: silent_calloc,
        realloc: silent_realloc,
        free: object_free,
    }
}

/// Passes the arguments on with the caller's rsp and rbp after them.
macro_rules! with_caller {
    ($name:ident, $rsp:literal, $rbp:literal => $hook:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", $rsp, $rbp, "jmp {hook}", ".cfi_endproc", hook = sym $hook)
        }
    };
}

with_caller!(object_malloc, "mov rdx, rsp", "mov rcx, rbp" => on_malloc);
with_caller!(object_calloc, "mov rcx, rsp", "mov r8, rbp" => on_calloc);
with_caller!(object_realloc, "mov rcx, rsp", "mov r8, rbp" => on_realloc);

impl OriginalAllocator {
    fn context(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }

    /// # Safety
    /// Only our allocator asks, which is put in place after this was written.
    #[inline(always)]
    unsafe fn get(&self) -> &Allocator {
        // SAFETY: as the caller says.
        unsafe { (*self.0.get()).as_ref().unwrap_unchecked() }
    }
}

/// Whether a new object is no sample: the original may be called at once, with a jump.
#[inline(always)]
fn passes_by(size: usize) -> bool {
    size <= LARGEST_OBJECT && words::object_passes_by(size)
}

/// Calls the original for an object that does not pass by; what it takes from `malloc` for a large one is Python's.
#[cold]
#[inline(never)]
fn allocate(size: usize, caller: Caller, call: impl FnOnce() -> *mut c_void) -> *mut c_void {
    if size > LARGEST_OBJECT {
        return as_python(call);
    }
    let block = call();
    if !block.is_null() {
        tracker().on_object(Addr::new(block as u64), Bytes::new(size as u64), caller);
    }
    block
}

fn as_python(call: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let before = guard::current().map(|slot| slot.change_kind(Some(Pseudo::PythonBlock)));
    let block = call();
    if let (Some(before), Some(slot)) = (before, guard::current()) {
        slot.change_kind(before);
    }
    block
}

unsafe extern "C" fn on_malloc(original: &OriginalAllocator, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    // SAFETY: the original function with its own context and Python's arguments.
    unsafe {
        let real = original.get();
        if passes_by(size) {
            return (real.malloc)(real.context, size);
        }
        allocate(size, Caller { rsp, rbp }, || (real.malloc)(real.context, size))
    }
}

unsafe extern "C" fn on_calloc(
    original: &OriginalAllocator,
    count: usize,
    size: usize,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    // SAFETY: as in `on_malloc`.
    unsafe {
        let real = original.get();
        let whole = count.saturating_mul(size);
        if passes_by(whole) {
            return (real.calloc)(real.context, count, size);
        }
        allocate(whole, Caller { rsp, rbp }, || (real.calloc)(real.context, count, size))
    }
}

unsafe extern "C" fn on_realloc(
    original: &OriginalAllocator,
    old: *mut c_void,
    size: usize,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    // SAFETY: as in `on_malloc`.
    unsafe {
        let real = original.get();
        let claimed = tracker().claim_object(Addr::new(old as u64));
        // A block of `malloc` that shrinks stays one.
        let new = as_python(|| (real.realloc)(real.context, old, size));
        if size <= LARGEST_OBJECT && !new.is_null() && !words::object_passes_by(size) {
            tracker().on_object(Addr::new(new as u64), Bytes::new(size as u64), Caller { rsp, rbp });
        }
        if new.is_null()
            && let Some(claimed) = claimed
        {
            tracker().give_back_object(claimed); // the old object lives on
        }
        new
    }
}

unsafe extern "C" fn object_free(original: *mut c_void, block: *mut c_void) {
    tracker().on_object_end(Addr::new(block as u64));
    // SAFETY: the context is the address of an `OriginalAllocator`; as in `on_malloc`.
    unsafe {
        let real = (*original.cast::<OriginalAllocator>()).get();
        (real.free)(real.context, block);
    }
}

unsafe extern "C" fn silent_malloc(original: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as in `object_free`.
    unsafe {
        let real = (*original.cast::<OriginalAllocator>()).get();
        as_python(|| (real.malloc)(real.context, size))
    }
}

unsafe extern "C" fn silent_calloc(original: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: as in `object_free`.
    unsafe {
        let real = (*original.cast::<OriginalAllocator>()).get();
        as_python(|| (real.calloc)(real.context, count, size))
    }
}

unsafe extern "C" fn silent_realloc(original: *mut c_void, old: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as in `object_free`.
    unsafe {
        let real = (*original.cast::<OriginalAllocator>()).get();
        let claimed = tracker().claim_object(Addr::new(old as u64));
        let new = as_python(|| (real.realloc)(real.context, old, size));
        if let (true, Some(claimed)) = (new.is_null(), claimed) {
            tracker().give_back_object(claimed);
        }
        new
    }
}
