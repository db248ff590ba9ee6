//! A place in Python's allocator of small objects: they are cut out of arenas, so that `malloc` never sees them.
//!
//! The place is taken through `PyMem_SetAllocator`, which wants the interpreter's lock. So an audit hook (PEP 578) is left
//! with the interpreter before it starts; its first import comes with the lock held, and then the hook takes itself out
//! again, since every audited operation is slower while there is one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

use heaplens_format::arena::Pseudo;
use heaplens_format::environment::Objects;
use heaplens_format::{Addr, Bytes};
use heaplens_tracker::{Caller, Guard, Nesting, modules, process, python, seat, tracker};

/// Python's allocator passes on what is larger.
const LARGEST_OBJECT: usize = 512;

type Hook = unsafe extern "C" fn(*const c_char, *mut c_void, *mut c_void) -> c_int;
type AddHook = unsafe extern "C" fn(Hook, *mut c_void) -> c_int;
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
struct Original(core::cell::UnsafeCell<Option<Allocator>>);
// SAFETY: written once, under the interpreter's lock, before the allocator that reads it is put in place.
unsafe impl Sync for Original {}

/// Of the domains `PYMEM_DOMAIN_MEM` and `PYMEM_DOMAIN_OBJ`.
static ORIGINALS: [Original; 2] =
    [Original(core::cell::UnsafeCell::new(None)), Original(core::cell::UnsafeCell::new(None))];
const DOMAINS: [c_int; 2] = [1, 2];

static IS_IN_PLACE: AtomicBool = AtomicBool::new(false);
/// The word of the interpreter that leads to our entry in its list of hooks; 0 when it was not found.
static LINK: AtomicUsize = AtomicUsize::new(0);

/// Leaves the hook with the interpreter, where there is one whose objects can be read.
pub fn watch() {
    if modules::exporting(python::THREAD_STATE).is_some() {
        tracker().python.pin();
    }
    if process::settings().objects == Objects::None {
        return;
    }
    // Not by `dlsym`: where it finds nothing it allocates words to say so.
    let Some(exports) = modules::exporting(c"PySys_AddAuditHook").filter(python::is_readable) else { return };
    let Some(add) = exports.find(c"PySys_AddAuditHook") else { return };
    // What it allocates for us is not the program's.
    let guard = Guard::enter(Nesting::Expected);
    // SAFETY: the function of this name; the hook has the type that it asks for and lives as long as the process.
    let added = unsafe { core::mem::transmute::<u64, AddHook>(add.address)(on_audit, core::ptr::null_mut()) };
    drop(guard);
    if added == 0
        && let Some(runtime) = exports.find(c"_PyRuntime")
    {
        LINK.store(find_link(runtime.address as usize, runtime.size as usize).unwrap_or(0), Relaxed);
    }
}

/// Where in the interpreter's state the list of hooks begins, when ours is its first entry: { next, function, data }.
fn find_link(state: usize, size: usize) -> Option<usize> {
    // SAFETY: no argument; the break ends the heap that the entry was just taken from.
    let heap_end = unsafe { libc::sbrk(0) } as usize;
    let heap_start = heap_end.saturating_sub(64 << 20);
    (state..state + size).step_by(8).find(|&at| {
        // SAFETY: a word of the interpreter's state, which is as large as its symbol says.
        let entry = unsafe { (at as *const usize).read() };
        entry & 15 == 0
            && (heap_start..heap_end.saturating_sub(24)).contains(&entry)
            && modules::range_of(entry as u64).is_none()
            && is_mapped(entry)
            // SAFETY: an address in the heap, which is mapped.
            && unsafe { (entry as *const [usize; 3]).read() }[1] == on_audit as *const () as usize
    })
}

/// Whether a page of the heap is there: the heap may be shorter than what was looked at.
fn is_mapped(address: usize) -> bool {
    let mut state = 0u8;
    let page = address & !4095;
    // SAFETY: asks about one page; the kernel writes one byte.
    unsafe { libc::mincore(page as *mut c_void, 4096, &mut state) == 0 }
}

unsafe extern "C" fn on_audit(event: *const c_char, _arguments: *mut c_void, _data: *mut c_void) -> c_int {
    // SAFETY: the interpreter passes a zero-terminated name.
    let event = unsafe { CStr::from_ptr(event) }.to_bytes();
    let is_up = event == b"import" || event.starts_with(b"cpython.run_");
    if is_up && !IS_IN_PLACE.swap(true, Relaxed) {
        take_place();
        leave_list();
    }
    0
}

/// Puts our allocator before Python's.
fn take_place() {
    let Some(exports) = modules::exporting(c"PyMem_SetAllocator") else { return };
    let (get, set) = (exports.find(c"PyMem_GetAllocator"), exports.find(c"PyMem_SetAllocator"));
    let (Some(get), Some(set)) = (get, set) else { return };
    // SAFETY: the functions of these names have this type.
    let (get, set) = unsafe {
        (
            core::mem::transmute::<u64, ExchangeAllocator>(get.address),
            core::mem::transmute::<u64, ExchangeAllocator>(set.address),
        )
    };
    for (domain, original) in DOMAINS.into_iter().zip(&ORIGINALS) {
        let mut allocator = core::mem::MaybeUninit::<Allocator>::uninit();
        // SAFETY: the lock is held inside an audit hook; `get` fills the struct, `set` copies it.
        unsafe {
            get(domain, allocator.as_mut_ptr());
            *original.0.get() = Some(allocator.assume_init());
            let mut ours = Allocator {
                context: (&raw const *original).cast_mut().cast(),
                malloc: core::mem::transmute::<unsafe extern "C" fn(), Malloc>(object_malloc),
                calloc: core::mem::transmute::<unsafe extern "C" fn(), Calloc>(object_calloc),
                realloc: core::mem::transmute::<unsafe extern "C" fn(), Realloc>(object_realloc),
                free: object_free,
            };
            set(domain, &mut ours);
        }
    }
    tracker().begin_objects();
}

/// Takes our entry out of the interpreter's list. The entry itself stays: the interpreter is looking at it.
fn leave_list() {
    let link = LINK.load(Relaxed);
    if link != 0 {
        // SAFETY: `find_link` found the entry through this word; under the interpreter's lock nobody else changes it. What
        // came behind us in the list stays in it.
        unsafe {
            let entry = (link as *const *const usize).read();
            if (entry.cast::<[usize; 3]>().read())[1] == on_audit as *const () as usize {
                (link as *mut usize).write(entry.read());
            }
        }
    }
}

/// Passes the arguments on with the caller's rsp and rbp behind them.
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

impl Original {
    /// # Safety
    /// Only our allocator asks, which is put in place after this was written.
    #[inline(always)]
    unsafe fn get(&self) -> &Allocator {
        // SAFETY: as the caller says.
        unsafe { (*self.0.get()).as_ref().unwrap_unchecked() }
    }
}

/// Calls the original; what it takes from `malloc` for a large object is Python's.
#[inline(always)]
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
    let before = seat::current().map(|seat| seat.change_ground(Some(Pseudo::PythonBlock)));
    let block = call();
    if let (Some(before), Some(seat)) = (before, seat::current()) {
        seat.change_ground(before);
    }
    block
}

unsafe extern "C" fn on_malloc(original: &Original, size: usize, rsp: u64, rbp: u64) -> *mut c_void {
    // SAFETY: the original function with its own context and Python's arguments.
    unsafe {
        let real = original.get();
        allocate(size, Caller { rsp, rbp }, || (real.malloc)(real.context, size))
    }
}

unsafe extern "C" fn on_calloc(
    original: &Original,
    count: usize,
    size: usize,
    rsp: u64,
    rbp: u64,
) -> *mut c_void {
    // SAFETY: as in `on_malloc`.
    unsafe {
        let real = original.get();
        let whole = count.saturating_mul(size);
        allocate(whole, Caller { rsp, rbp }, || (real.calloc)(real.context, count, size))
    }
}

unsafe extern "C" fn on_realloc(
    original: &Original,
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
        if size <= LARGEST_OBJECT && !new.is_null() {
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
    // SAFETY: the context is the address of an `Original`; as in `on_malloc`.
    unsafe {
        let real = (*original.cast::<Original>()).get();
        (real.free)(real.context, block);
    }
}
