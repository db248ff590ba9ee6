//! Functions of libraries behind names of ours. A library may have been loaded for itself alone, out of sight of `dlsym`, and there
//! may be two of one name: so the real function is looked for in the library that the object or the caller belongs to.

use core::ffi::CStr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::Loss;
use heaplens_tracker::{modules, tracker};

use crate::start::is_ready;

/// A name of the linker's, from what stands for its letters.
macro_rules! name {
    ($($name:tt)+) => {
        match core::ffi::CStr::from_bytes_with_nul(concat!($($name)+, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a literal with one zero at its end"),
        }
    };
}
pub(crate) use name;

/// A virtual function: that of the library that has the table of the object at hand.
pub(crate) struct ByTable {
    name: &'static CStr,
    /// The first table that was seen, and the function for it; both stay.
    table: AtomicU64,
    function: AtomicU64,
}

impl ByTable {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, table: AtomicU64::new(0), function: AtomicU64::new(0) }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static CStr {
        self.name
    }

    /// The function for an object, which must be of a class with virtual functions; `None` as in `of_framework`.
    pub(crate) fn of(&self, object: *const u64) -> Option<u64> {
        let table = table_of(object);
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
        let function = of_framework(table, self.name)?;
        if self.function.compare_exchange(0, function, Relaxed, Relaxed).is_ok() {
            self.table.store(table, Release);
        }
        Some(function)
    }
}

/// The virtual table of an object, which must be of a class with virtual functions.
pub(crate) fn table_of(object: *const u64) -> u64 {
    // SAFETY: such an object begins with the address of its table.
    unsafe { object.read() }
}

/// Call sites of one function; more are looked up each time.
const PLACES: usize = 64;

/// A plain function: that of the caller's own library, where it has one.
pub(crate) struct ByCaller {
    name: &'static CStr,
    /// The function for each call site, by the address that the call returns to; written once.
    callers: [AtomicU64; PLACES],
    functions: [AtomicU64; PLACES],
}

impl ByCaller {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            callers: [const { AtomicU64::new(0) }; PLACES],
            functions: [const { AtomicU64::new(0) }; PLACES],
        }
    }

    /// The function for whoever called, by the address that the call returns to; `None` as in `of_framework`.
    pub(crate) fn of(&self, caller: u64) -> Option<u64> {
        for at in entries(caller) {
            match self.callers[at].load(Relaxed) {
                0 => break,
                // Acquire: pairs with the Release in `find`; 0 while that is under way.
                known if known == caller => match self.functions[at].load(Acquire) {
                    0 => break,
                    function => return Some(function),
                },
                _ => {}
            }
        }
        self.find(caller)
    }

    #[cold]
    fn find(&self, caller: u64) -> Option<u64> {
        let function = of_framework(caller, self.name)?;
        for at in entries(caller) {
            match self.callers[at].compare_exchange(0, caller, Relaxed, Relaxed) {
                Ok(_) => {
                    self.functions[at].store(function, Release);
                    break;
                }
                Err(other) if other == caller => break,
                Err(_) => {}
            }
        }
        Some(function)
    }
}

/// The entries that a caller may have, beginning with the one that it should.
fn entries(caller: u64) -> impl Iterator<Item = usize> {
    let first = (caller >> 4) as usize;
    (first..first + PLACES).map(|at| at % PLACES)
}

/// A framework's function behind a hook of ours: that of the library which `address` is in, which may have been loaded for itself
/// alone, out of sight of `dlsym`, and there may be two of them; else that of any library.
///
/// `None`, counted as a loss, where no loaded object defines it. Nothing that belongs to the framework can have called us then: its
/// call, or its virtual table, was bound by this name, the library that has the definition is loaded with it, and it stays
/// loaded as long as its callers are. So the call came by a look-up of the name (`dlsym`, a weak reference) that would have
/// found nothing without us: the hook answers as the function does when it fails.
#[cold]
fn of_framework(address: u64, name: &CStr) -> Option<u64> {
    let found = modules::defined_beside(address, name).or_else(|| modules::defined_elsewhere(name));
    if found.is_none() && is_ready() {
        tracker().lose(Loss::FunctionMissing);
    }
    found
}
