//! A built-in module more, `_heaplens`, which the package imports, and up to Python 3.9 notice of the making of `atexit`.
//!
//! The interpreter's list of built-in modules is replaced by a copy with ours in it, before the interpreter reads it. Python
//! has a function for that, but its copy would be freed at the end by `free`, which would not know the block.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_tracker::modules::symbols::Exports;
use heaplens_tracker::tracker;

use super::interface::{self, Function, Interface, Method, NO_ARGUMENTS, ONE_ARGUMENT, Object};
use super::script_end;
use crate::lifecycle::marks::{begin_leak_check, heaplens_leak_check_end, heaplens_mark, heaplens_snapshot};

type Make = unsafe extern "C" fn() -> Object;

/// `struct _inittab`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Row {
    name: *const c_char,
    make: Option<Make>,
}

/// CPython has some thirty; builds with everything inside have hundreds.
const MOST_ROWS: usize = 512;

struct Rows(UnsafeCell<[Row; MOST_ROWS]>);
// SAFETY: written before the interpreter runs that is to read them, and when that is gone.
unsafe impl Sync for Rows {}
static IS_OFFERED: AtomicBool = AtomicBool::new(false);
static ROWS: Rows = Rows(UnsafeCell::new([Row { name: null(), make: None }; MOST_ROWS]));

struct OriginalMake(UnsafeCell<Option<Make>>);
// SAFETY: as `ROWS`.
unsafe impl Sync for OriginalMake {}
/// What makes `atexit`.
static MAKE_ATEXIT: OriginalMake = OriginalMake(UnsafeCell::new(None));

/// `PyModuleDef_Slot`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    kind: c_int,
    value: usize,
}

/// `Py_mod_exec`.
const EXECUTE: c_int = 2;
/// `atexit` has one.
const MOST_SLOTS: usize = 8;

struct Slots(UnsafeCell<[Slot; MOST_SLOTS]>);
// SAFETY: written under the interpreter's lock.
unsafe impl Sync for Slots {}
static SLOTS: Slots = Slots(UnsafeCell::new([Slot { kind: 0, value: 0 }; MOST_SLOTS]));

/// `PyModuleDef`, as all versions have it.
#[repr(C)]
struct Definition {
    references: isize,
    rest_of_head: [usize; 4],
    name: *const c_char,
    doc: *const c_char,
    size: isize,
    methods: *const Method,
    slots: *const Slot,
    clean_up: [usize; 3],
}

struct Module(UnsafeCell<Definition>);
// SAFETY: the interpreter writes it, under its lock.
unsafe impl Sync for Module {}

static METHODS: [Method; 5] = [
    Method {
        name: c"mark".as_ptr(),
        function: Some(mark),
        flags: ONE_ARGUMENT,
        doc: c"mark(label, /)\n--\n\nMarks this moment with a label in UTF-8.".as_ptr(),
    },
    Method {
        name: c"snapshot".as_ptr(),
        function: Some(snapshot),
        flags: NO_ARGUMENTS,
        doc: c"snapshot()\n--\n\nTakes a heap snapshot here.".as_ptr(),
    },
    Method {
        name: c"leak_check_begin".as_ptr(),
        // SAFETY: passes both arguments and the caller's registers on; nobody calls it with others.
        function: Some(unsafe { core::mem::transmute::<unsafe extern "C" fn(), Function>(leak_check_begin) }),
        flags: ONE_ARGUMENT,
        doc: c"leak_check_begin(name, /)\n--\n\nFrom here on leaks are checked.".as_ptr(),
    },
    Method {
        name: c"leak_check_end".as_ptr(),
        function: Some(leak_check_end),
        flags: ONE_ARGUMENT,
        doc: c"leak_check_end(name, /)\n--\n\nUp to here leaks are checked.".as_ptr(),
    },
    Method { name: null(), function: None, flags: 0, doc: null() },
];
/// No slots: a module that is made in two phases, so that every interpreter of a process can have it.
static NO_SLOTS: Slot = Slot { kind: 0, value: 0 };
static MODULE: Module = Module(UnsafeCell::new(Definition {
    references: 1,
    rest_of_head: [0; 4],
    name: c"_heaplens".as_ptr(),
    doc: c"What the package heaplens calls; there is one because this process is being recorded.".as_ptr(),
    size: 0,
    methods: METHODS.as_ptr(),
    slots: &NO_SLOTS,
    clean_up: [0; 3],
}));

/// Puts our rows into the list. Called before the interpreter runs.
pub fn offer(exports: &Exports, interface: &Interface) {
    let Some(list) = exports.find(c"PyImport_Inittab") else { return };
    let list = list.address as *mut *const Row;
    // SAFETY: the variable of this name, which points to rows up to one without a name; nobody reads it yet.
    unsafe {
        if copy(*list, &mut *ROWS.0.get(), interface) {
            list.write(ROWS.0.get().cast());
            IS_OFFERED.store(true, Relaxed);
        }
    }
}

/// The interpreter has gone that had our list; what it wrote into the definition of our module leads to it.
pub fn forget() {
    IS_OFFERED.store(false, Relaxed);
    // SAFETY: nobody else has the definition now.
    unsafe { (*MODULE.0.get()).rest_of_head = [0; 4] };
}

/// Whether the interpreter has our list.
pub fn is_offered() -> bool {
    IS_OFFERED.load(Relaxed)
}

/// Whether there was room.
///
/// # Safety
/// `from` ends with a row without a name.
unsafe fn copy(from: *const Row, to: &mut [Row; MOST_ROWS], interface: &Interface) -> bool {
    for index in 0..MOST_ROWS - 1 {
        // SAFETY: no row before this one was the last.
        let row = unsafe { from.add(index).read() };
        if row.name.is_null() {
            to[index] = Row { name: c"_heaplens".as_ptr(), make: Some(make_heaplens) };
            to[index + 1] = row;
            return true;
        }
        to[index] = look_at_atexit(row, interface);
    }
    false
}

/// Up to 3.9 every making of the module `atexit` begins a new registry: ours must be the first in it.
fn look_at_atexit(row: Row, interface: &Interface) -> Row {
    // SAFETY: a row has a zero-terminated name.
    if interface.at_exit.is_none() || unsafe { CStr::from_ptr(row.name) } != c"atexit" {
        return row;
    }
    // SAFETY: see `OriginalMake`.
    unsafe { *MAKE_ATEXIT.0.get() = row.make };
    Row { name: row.name, make: Some(make_atexit) }
}

unsafe extern "C" fn make_heaplens() -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter imports the module; the definition is complete and lives as long as the process.
    unsafe { (interface.init_module)(MODULE.0.get().cast::<c_void>()) }
}

/// Up to 3.9 `atexit` is made in two phases, too: its definition gets one more function to be run on a new module.
unsafe extern "C" fn make_atexit() -> Object {
    // SAFETY: see `OriginalMake`; the interpreter imports the module.
    let made = unsafe { (*MAKE_ATEXIT.0.get()).map_or(null_mut(), |make| make()) };
    // SAFETY: what a row makes is a definition or a module, both with the type after the count of references; the
    // definition of a module that is built in can be written.
    unsafe {
        if let Some(interface) = interface::get()
            && !made.is_null()
            && made.cast::<[usize; 2]>().read()[1] == interface.definition_type as usize
        {
            extend(&mut *made.cast::<Definition>(), &mut *SLOTS.0.get());
        }
    }
    made
}

/// Puts ours after the slots of a definition, where there is room for them.
fn extend(definition: &mut Definition, slots: &mut [Slot; MOST_SLOTS]) {
    if definition.slots.is_null() || definition.slots == slots.as_ptr() {
        return;
    }
    for index in 0..MOST_SLOTS - 1 {
        // SAFETY: the slots end with one of kind 0, and none before this one was it.
        slots[index] = unsafe { definition.slots.add(index).read() };
        if slots[index].kind == 0 {
            slots[index] = Slot { kind: EXECUTE, value: on_atexit as *const () as usize };
            slots[index + 1] = Slot { kind: 0, value: 0 };
            definition.slots = slots.as_ptr();
            return;
        }
    }
}

unsafe extern "C" fn on_atexit(module: Object) -> c_int {
    if let Some(interface) = interface::get() {
        // SAFETY: a module that was just made, under the interpreter's lock.
        unsafe { script_end::on_registry(interface, module) };
    }
    0
}

unsafe extern "C" fn mark(_module: Object, label: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter calls with its lock held; where the object is not bytes there is an exception to return to.
    unsafe {
        let text = (interface.bytes)(label);
        if text.is_null() {
            return null_mut();
        }
        // A mark that ends the section between two marks waits for a heap snapshot.
        if tracker().has_sections_at_marks() {
            let thread = (interface.unlock)();
            heaplens_mark(text);
            (interface.lock)(thread);
        } else {
            heaplens_mark(text);
        }
        interface.nothing()
    }
}

#[unsafe(naked)]
unsafe extern "C" fn leak_check_begin() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "jmp {begin}",
        ".cfi_endproc",
        begin = sym on_leak_check_begin)
}

unsafe extern "C" fn on_leak_check_begin(_module: Object, name: Object, rsp: u64, rbp: u64) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: as in `mark`; the registers are those of the function that the interpreter called.
    unsafe {
        let text = (interface.bytes)(name);
        if text.is_null() {
            return null_mut();
        }
        begin_leak_check(text, rsp, rbp);
        interface.nothing()
    }
}

/// Other threads of Python run while this one waits; the caller's reference keeps the name.
unsafe extern "C" fn leak_check_end(_module: Object, name: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: as in `mark` and `snapshot`.
    unsafe {
        let text = (interface.bytes)(name);
        if text.is_null() {
            return null_mut();
        }
        let thread = (interface.unlock)();
        heaplens_leak_check_end(text);
        (interface.lock)(thread);
        interface.nothing()
    }
}

/// Other threads of Python run meanwhile.
unsafe extern "C" fn snapshot(_module: Object, _nothing: Object) -> Object {
    let Some(interface) = interface::get() else { return null_mut() };
    // SAFETY: the interpreter calls with its lock held, and has it back when this returns.
    unsafe {
        let thread = (interface.unlock)();
        heaplens_snapshot();
        (interface.lock)(thread);
        interface.nothing()
    }
}
