//! An audit hook (PEP 578), left with the interpreter before it starts: its events come with the interpreter's lock held.
//! When it has done its work it takes itself out again, since every audited operation is slower while there is one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

use heaplens_format::Loss;
use heaplens_format::environment::Objects;
use heaplens_tracker::modules::symbols::Exports;
use heaplens_tracker::{Guard, Nesting, modules, process, sys, tracker};

use super::{allocator, interface, probe};

type Hook = unsafe extern "C" fn(*const c_char, *mut c_void, *mut c_void) -> c_int;
type AddHook = unsafe extern "C" fn(Hook, *mut c_void) -> c_int;

static IS_IN_PLACE: AtomicBool = AtomicBool::new(false);
static IS_DONE: AtomicBool = AtomicBool::new(false);
/// The word of the interpreter that leads to our entry in its list of hooks; 0 when it was not found.
static LINK: AtomicUsize = AtomicUsize::new(0);

/// Leaves the hook with the interpreter.
pub fn add(exports: &Exports) {
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

/// The interpreter has gone that had the hook.
pub fn forget() {
    IS_IN_PLACE.store(false, Relaxed);
    IS_DONE.store(false, Relaxed);
    LINK.store(0, Relaxed);
}

unsafe extern "C" fn on_audit(event: *const c_char, _arguments: *mut c_void, _data: *mut c_void) -> c_int {
    if !IS_DONE.load(Relaxed) {
        // SAFETY: the interpreter passes a zero-terminated name.
        on_event(unsafe { CStr::from_ptr(event) }.to_bytes());
    }
    0
}

/// The first import comes while the interpreter is being initialised; `site` is imported when it just was, unless the user
/// does not want it: then the script is the first to come, or in an embedded interpreter the next import.
fn on_event(event: &[u8]) {
    let runs = event.starts_with(b"cpython.run_");
    if event != b"import" && !runs {
        return;
    }
    if process::settings().objects != Objects::None && !IS_IN_PLACE.swap(true, Relaxed) {
        allocator::install();
    }
    let interface = interface::get();
    if (runs || interface.is_none_or(interface::is_initialised)) && !IS_DONE.swap(true, Relaxed) {
        match interface {
            Some(interface) => probe::run(interface),
            None => tracker().lose(Loss::ProbeFailed),
        }
        leave_list();
    }
}

/// Where in the interpreter's state the list of hooks begins, when ours is its first entry: { next, function, data }.
fn find_link(state: usize, size: usize) -> Option<usize> {
    (state..state + size).step_by(8).find(|&at| {
        // SAFETY: a word of the interpreter's state, which is as large as its symbol says.
        let entry = unsafe { (at as *const usize).read() };
        entry & 15 == 0
            && (4096..1 << 47).contains(&entry)
            && modules::range_of(entry as u64).is_none()
            && function_of(entry) == Some(on_audit as *const () as usize)
    })
}

/// The function of an entry, if it is one: the kernel reads there, since most words that could be addresses are none. Where
/// it may not be asked, only the heap is read.
fn function_of(entry: usize) -> Option<usize> {
    match sys::read_words::<3>(entry as u64) {
        ([_, function, _], 3) => Some(function as usize),
        // SAFETY: an address in the heap, which is mapped.
        _ => is_in_heap(entry).then(|| unsafe { (entry as *const [usize; 3]).read() }[1]),
    }
}

/// Whether an address is in the heap that `sbrk` ends, and mapped: it may be shorter than what was read.
fn is_in_heap(address: usize) -> bool {
    // SAFETY: no argument; the break ends the heap that the entry was just taken from.
    let end = unsafe { libc::sbrk(0) } as usize;
    let mut state = 0u8;
    let page = [address & !4095, 4096, &raw mut state as usize, 0, 0, 0];
    (end.saturating_sub(64 << 20)..end.saturating_sub(24)).contains(&address)
        // SAFETY: asks about one page; the kernel writes one byte.
        && unsafe { sys::syscall(libc::SYS_mincore, page) }.is_ok()
}

/// Takes our entry out of the interpreter's list. The entry itself stays: the interpreter is reading it.
fn leave_list() {
    let link = LINK.load(Relaxed);
    if link != 0 {
        // SAFETY: `find_link` found the entry through this word; under the interpreter's lock nobody else changes it. What
        // came after us in the list stays in it.
        unsafe {
            let entry = (link as *const *const usize).read();
            if (entry.cast::<[usize; 3]>().read())[1] == on_audit as *const () as usize {
                (link as *mut usize).write(entry.read());
            }
        }
    }
}
