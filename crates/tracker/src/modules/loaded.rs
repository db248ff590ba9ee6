//! Objects that the loader has mapped, found by `_dl_find_object` (glibc 2.35), which takes no lock and may be called anywhere.

use core::ffi::{CStr, c_char, c_int, c_void};

use super::symbols::Exports;
use crate::process::path::{PATH_LENGTH, PathBuffer};
use crate::sys;

/// glibc's `struct dl_find_object`.
#[repr(C)]
pub(super) struct FoundObject {
    flags: u64,
    pub(super) map_start: u64,
    pub(super) map_end: u64,
    pub(super) link_map: *const LinkMap,
    pub(super) unwind_header: u64,
    reserved: [u64; 7],
}

/// The public head of glibc's `struct link_map`.
#[repr(C)]
pub(super) struct LinkMap {
    bias: u64,
    pub(super) name: *const c_char,
    dynamic: u64,
}

unsafe extern "C" {
    fn _dl_find_object(address: *mut c_void, result: *mut FoundObject) -> c_int;
}

/// Where the object that covers a code address is mapped.
pub fn range_of(address: u64) -> Option<(u64, u64)> {
    find_object(address).map(|object| (object.map_start, object.map_end))
}

/// The first loaded object that exports this name, in the order of the loader.
pub fn exporting(name: &CStr) -> Option<Exports> {
    exporting_outside(name, (0, 0))
}

/// Where a name is defined in another object than our own, be it loaded for itself alone.
pub fn defined_elsewhere(name: &CStr) -> Option<u64> {
    let own = range_of(defined_elsewhere as *const () as u64)?;
    exporting_outside(name, own)?.find(name).map(|symbol| symbol.address)
}

/// The first one outside of a range.
fn exporting_outside(name: &CStr, (start, end): (u64, u64)) -> Option<Exports> {
    struct Search<'a> {
        name: &'a CStr,
        not: core::ops::Range<u64>,
        found: Option<Exports>,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes the object at hand, and what `exporting` gave it.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
        // SAFETY: the program headers of the object, which is loaded while the loader calls.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        let exports = dynamic.and_then(|header| {
            let address = info.dlpi_addr.wrapping_add(header.p_vaddr);
            // SAFETY: the dynamic section of a loaded object.
            unsafe { Exports::of(info.dlpi_addr, address) }
        });
        let is_wanted = |address: u64| !search.not.contains(&address);
        search.found = exports
            .filter(|exports| exports.find(search.name).is_some_and(|symbol| is_wanted(symbol.address)));
        c_int::from(search.found.is_some())
    }
    let mut search = Search { name, not: start..end, found: None };
    // SAFETY: the function has the type that is asked for, and the search outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Where the object that covers an address, be it of code or of data, defines a name.
pub fn defined_beside(address: u64, name: &CStr) -> Option<u64> {
    exports_of(address)?.find(name).map(|symbol| symbol.address)
}

/// Whether the object that covers an address defines this name there, and does not only refer to it.
pub fn defines(address: u64, name: &CStr) -> bool {
    let symbol = exports_of(address).and_then(|exports| exports.find(name));
    symbol.is_some_and(|symbol| symbol.address == address)
}

/// What the object that covers a code address exports.
pub fn exports_of(address: u64) -> Option<Exports> {
    exports(&find_object(address)?)
}

pub(super) fn exports(object: &FoundObject) -> Option<Exports> {
    // SAFETY: `find_object` checked the pointer; the loader keeps map and tables while the object's code is on a stack.
    unsafe { Exports::of(bias(object), (*object.link_map).dynamic) }
}

pub(super) fn find_object(address: u64) -> Option<FoundObject> {
    // SAFETY: the struct consists of numbers and pointers, for which zero is a value.
    let mut object: FoundObject = unsafe { core::mem::zeroed() };
    // SAFETY: the function writes one `struct dl_find_object`, whose x86-64 layout `FoundObject` has.
    let status = unsafe { _dl_find_object(address as *mut c_void, &mut object) };
    (status == 0 && !object.link_map.is_null()).then_some(object)
}

pub(super) fn bias(object: &FoundObject) -> u64 {
    // SAFETY: `find_object` checked the pointer; the loader keeps the map while its code is on a stack.
    unsafe { (*object.link_map).bias }
}

/// The path of the file: the loader's name made absolute, or the executable, whose name is empty.
pub(super) fn full_path(object: &FoundObject) -> PathBuffer {
    // SAFETY: as in `bias`; the name is zero-terminated.
    let name = unsafe { CStr::from_ptr((*object.link_map).name) }.to_bytes();
    let mut buffer = [0u8; PATH_LENGTH];
    match name.first() {
        None => PathBuffer::new(sys::read_link(c"/proc/self/exe", &mut buffer)),
        Some(b'/') => PathBuffer::new(name),
        Some(_) if !name.contains(&b'/') => PathBuffer::new(name), // linux-vdso.so.1: no file
        Some(_) => {
            let mut path = PathBuffer::new(sys::working_directory(&mut buffer));
            path.push(b"/");
            path.push(name);
            path
        }
    }
}
