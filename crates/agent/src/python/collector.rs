//! Python's collector of cycles, run when somebody wants to know what it returns.

use core::ffi::CStr;
use core::ptr::null_mut;

use heaplens_format::arena::counter::COLLECTOR_HELD;
use heaplens_tracker::tracker;

use super::interface::{self, Interface, PendingCall};
use super::{counting, isolated};

/// A text of Python that notes why the collector would not have come by itself.
static SOURCE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../../../python/probe/collector.py"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the probe is a text"),
};

/// Leaves a function with the interpreter, which calls it in its main thread; whether there was room for it. `None`: there
/// is no interpreter that is up, or one that may be unloaded at any moment.
pub fn leave_for_main_thread(function: PendingCall) -> Option<bool> {
    let interface =
        interface::get().filter(|interface| super::stays() && interface::is_initialised(interface))?;
    // SAFETY: may be called by any thread, with or without the interpreter's lock; the function lives as long as the process.
    Some(unsafe { (interface.add_pending_call)(function, null_mut()) == 0 })
}

/// Runs a full collection, also where the program has switched the collector off; whether it ran. The interpreter's lock is
/// held, and it expects that Python code runs.
pub fn collect() -> bool {
    let Some(interface) = interface::get() else { return false };
    // SAFETY: as the caller says.
    unsafe {
        isolated::unnoticed(interface, || note_what_holds_it(interface));
        match (interface.enable_collector, interface.disable_collector) {
            (Some(enable), Some(disable)) => {
                let was_enabled = enable() != 0;
                if !was_enabled {
                    note(b"the collector is switched off");
                }
                (interface.collect)();
                if !was_enabled {
                    disable();
                }
                true
            }
            _ => collect_by_module(interface),
        }
    }
}

/// Why it would not have come by itself.
fn note(reason: &[u8]) {
    if let Some(counter) = tracker().counters.number(COLLECTOR_HELD.as_bytes()) {
        tracker().on_note(counter, reason);
    }
}

/// # Safety
/// The interpreter's lock is held.
unsafe fn note_what_holds_it(interface: &Interface) -> bool {
    // SAFETY: as the caller says; the dictionary is given back here.
    unsafe {
        let names = (interface.new_dict)();
        if names.is_null() {
            return false;
        }
        let has_run = counting::run(interface, SOURCE, names);
        (interface.clear_dict)(names); // a function refers to it and it to the function
        (interface.release)(names);
        has_run
    }
}

/// Before 3.10 the function does nothing while the collector is off, and only the module can switch it on.
///
/// # Safety
/// The interpreter's lock is held, and no exception is on its way.
unsafe fn collect_by_module(interface: &Interface) -> bool {
    // SAFETY: as the caller says; every object that is made here is given back here.
    unsafe {
        let module = (interface.import_module)(c"gc".as_ptr());
        let function = match module.is_null() {
            false => (interface.get_attribute)(module, c"collect".as_ptr()),
            true => null_mut(),
        };
        let result = match function.is_null() {
            false => (interface.call)(function, null_mut::<core::ffi::c_void>()),
            true => null_mut(),
        };
        (interface.clear_error)();
        for object in [result, function, module] {
            if !object.is_null() {
                (interface.release)(object);
            }
        }
        !result.is_null()
    }
}
