//! Which object file covers a code address, where its unwind tables are, and the table of modules in the arena.
//!
//! Modules are found by `_dl_find_object` (glibc 2.35), which takes no lock and may be called anywhere. One is entered
//! when its code first appears on a stack. After a `dlclose` every entry is doubtful until its code is seen again: a
//! library that came back unchanged at the same place keeps its number, another one at that place gets a new one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::table::ModuleRecord;
use heaplens_format::arena::{MODULE_SIZE, Region};
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::symbols::Exports;
use crate::lifecycle::start::settings;
use crate::process::settings::{PATH_LENGTH, Path};
use crate::sys;
use crate::tables::arena::Arena;
use crate::tracker::tracker;
use crate::unwind::cfi::Segment;

/// The most modules of one process; the 65,535th would not fit a frame.
const CAPACITY: usize = 8192;

#[repr(C)]
struct FoundObject {
    flags: u64,
    map_start: u64,
    map_end: u64,
    link_map: *const LinkMap,
    unwind_header: u64,
    reserved: [u64; 7],
}

/// The public head of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    bias: u64,
    name: *const c_char,
    dynamic: u64,
}

unsafe extern "C" {
    fn _dl_find_object(address: *mut c_void, result: *mut FoundObject) -> c_int;
}

/// What unwinding needs of a module.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its number; `None` when the table is full.
    pub number: Option<u16>,
    /// The address of `.eh_frame_hdr`, 0 where there is none.
    pub unwind_header: u64,
    /// The readable segment that holds the unwind tables.
    pub segment: Segment<'static>,
}

/// What is kept beside the record in the arena.
#[derive(Debug)]
struct Private {
    start: AtomicU64,
    link_map: AtomicU64,
    generation: AtomicU32,
    is_gone: AtomicBool,
}

impl Private {
    const fn new() -> Self {
        Self {
            start: AtomicU64::new(0),
            link_map: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            is_gone: AtomicBool::new(false),
        }
    }

    fn set(&self, object: &FoundObject, generation: u32) {
        self.generation.store(generation, Relaxed);
        self.link_map.store(object.link_map as u64, Relaxed);
        self.is_gone.store(false, Relaxed);
        self.start.store(object.map_start, Relaxed);
    }

    /// Whether the library is no longer the one that was entered. Where this says so it is not asked again.
    fn has_left(&self) -> bool {
        if self.is_gone.load(Relaxed) {
            return false;
        }
        let start = self.start.load(Relaxed);
        let there = find_object(start);
        let same = there.is_some_and(|object| {
            object.map_start == start && object.link_map as u64 == self.link_map.load(Relaxed)
        });
        if !same {
            self.is_gone.store(true, Relaxed);
        }
        !same
    }
}

/// The modules of this process.
#[derive(Debug)]
pub struct Modules {
    count: AtomicU32,
    generation: AtomicU32,
    private: [Private; CAPACITY],
}

impl Modules {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            count: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            private: [const { Private::new() }; CAPACITY],
        }
    }

    /// Forgets everything: the arena was replaced.
    pub fn reset(&self) {
        // What stands there of the old arena may not be taken for an entry that a thread of the new one is writing.
        let count = (self.count.swap(0, Relaxed) as usize).min(CAPACITY);
        self.private[..count].iter().for_each(|private| private.start.store(0, Relaxed));
    }

    /// A library may have been unloaded: every entry is doubtful.
    pub fn doubt(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// Whether a library that was on a stack has left since the last call. Some 50 ns per module.
    pub fn any_has_left(&self) -> bool {
        let count = (self.count.load(Acquire) as usize).min(CAPACITY);
        self.private[..count].iter().fold(false, |left, private| private.has_left() | left)
    }

    /// The module that covers a code address.
    pub fn find(&self, arena: &Arena, address: u64) -> Option<Found> {
        let object = find_object(address)?;
        let image = Image::of(&object)?;
        Some(Found {
            number: self.number(arena, &object, &image),
            unwind_header: object.unwind_header,
            segment: image.segment_with(object.unwind_header)?,
        })
    }

    fn number(&self, arena: &Arena, object: &FoundObject, image: &Image) -> Option<u16> {
        let generation = self.generation.load(Relaxed);
        let count = (self.count.load(Acquire) as usize).min(CAPACITY);
        for index in (0..count).rev() {
            let private = &self.private[index];
            if private.start.load(Relaxed) != object.map_start {
                continue;
            }
            if private.generation.load(Relaxed) == generation {
                return Some(index as u16 + 1);
            }
            if self.is_same(arena, index, object, image) {
                private.set(object, generation);
                announce(arena, index as u16 + 1, object); // it may have been away
                return Some(index as u16 + 1);
            }
        }
        self.enter(arena, object, image, generation)
    }

    fn is_same(&self, arena: &Arena, index: usize, object: &FoundObject, image: &Image) -> bool {
        let record = record(arena, index);
        record.published.load(Acquire) == 1
            && record.bias.load(Relaxed) == bias(object)
            && record.end.load(Relaxed) == object.map_end
            && strings_equal(arena, record.path.load(Relaxed), full_path(object).bytes())
            && strings_equal(arena, record.build_id.load(Relaxed), image.build_id())
    }

    #[cold]
    fn enter(&self, arena: &Arena, object: &FoundObject, image: &Image, generation: u32) -> Option<u16> {
        let offset = arena.take(Region::Modules, MODULE_SIZE as u64)?;
        let index = offset / MODULE_SIZE;
        let private = self.private.get(index)?;
        let record = record(arena, index);
        record.bias.store(bias(object), Relaxed);
        record.start.store(object.map_start, Relaxed);
        record.end.store(object.map_end, Relaxed);
        record.path.store(put_string(arena, full_path(object).bytes()), Relaxed);
        record.build_id.store(put_string(arena, image.build_id()), Relaxed);
        // Release: a reader that sees 1 sees a whole record.
        record.published.store(1, Release);
        private.set(object, generation);
        self.count.fetch_max(index as u32 + 1, Release);
        announce(arena, index as u16 + 1, object);
        Some(index as u16 + 1)
    }
}

/// Tells who waits for an interpreter, for ourselves, and for frameworks.
fn announce(arena: &Arena, number: u16, object: &FoundObject) {
    if (object.map_start..object.map_end).contains(&(exports as *const () as u64)) {
        tracker().python.on_own_module(number);
    }
    if settings().profile.is_wanted() {
        return; // whose reader knows addresses alone
    }
    tracker().requests.on_module(full_path(object).bytes());
    if let Some(exports) = exports(object) {
        tracker().python.on_module(arena, number, full_path(object).bytes(), &exports);
    }
}

impl Default for Modules {
    fn default() -> Self {
        Self::new()
    }
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
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
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
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
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

fn exports(object: &FoundObject) -> Option<Exports> {
    // SAFETY: `find_object` checked the pointer; the loader keeps map and tables while the object's code is on a stack.
    unsafe { Exports::of(bias(object), (*object.link_map).dynamic) }
}

fn find_object(address: u64) -> Option<FoundObject> {
    // SAFETY: the struct consists of numbers and pointers, for which zero is a value.
    let mut object: FoundObject = unsafe { core::mem::zeroed() };
    // SAFETY: the function writes one `struct dl_find_object`, whose x86-64 layout `FoundObject` has.
    let status = unsafe { _dl_find_object(address as *mut c_void, &mut object) };
    (status == 0 && !object.link_map.is_null()).then_some(object)
}

fn bias(object: &FoundObject) -> u64 {
    // SAFETY: `find_object` checked the pointer; the loader keeps the map while its code is on a stack.
    unsafe { (*object.link_map).bias }
}

/// The path of the file: the loader's name made absolute, or the executable, whose name is empty.
fn full_path(object: &FoundObject) -> Path {
    // SAFETY: as in `bias`; the name is zero-terminated.
    let name = unsafe { CStr::from_ptr((*object.link_map).name) }.to_bytes();
    let mut buffer = [0u8; PATH_LENGTH];
    match name.first() {
        None => Path::new(sys::read_link(c"/proc/self/exe", &mut buffer)),
        Some(b'/') => Path::new(name),
        Some(_) if !name.contains(&b'/') => Path::new(name), // linux-vdso.so.1: no file
        Some(_) => {
            let mut path = Path::new(sys::working_directory(&mut buffer));
            path.push(b"/");
            path.push(name);
            path
        }
    }
}

fn record(arena: &Arena, index: usize) -> &ModuleRecord {
    // SAFETY: callers pass indices of records that `enter` took.
    unsafe { arena.record(Region::Modules, index * MODULE_SIZE) }
}

/// Copies a string into the arena; `offset << 32 | length`, 0 when it is empty or does not fit.
fn put_string(arena: &Arena, text: &[u8]) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let Some(offset) = arena.take(Region::Strings, text.len() as u64) else { return 0 };
    let target = arena.address(Region::Strings, offset) as *mut u8;
    // SAFETY: `take` handed out exactly this range to us alone.
    unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), target, text.len()) };
    (offset as u64) << 32 | text.len() as u64
}

fn strings_equal(arena: &Arena, word: u64, text: &[u8]) -> bool {
    let (offset, length) = ((word >> 32) as usize, word as u32 as usize);
    if length != text.len() {
        return false;
    }
    let address = arena.address(Region::Strings, offset) as *const u8;
    // SAFETY: the word was made by `put_string`; the range is never written again.
    unsafe { core::slice::from_raw_parts(address, length) == text }
}

/// The program headers where the ELF header before them is mapped at the start.
fn headers_in_front(object: &FoundObject) -> Option<&'static [libc::Elf64_Phdr]> {
    // SAFETY: the loader maps the first page of every object readable; it begins with the ELF header.
    let header = unsafe { &*(object.map_start as *const libc::Elf64_Ehdr) };
    if header.e_ident[..4] != *b"\x7fELF" || header.e_phentsize as usize != size_of::<libc::Elf64_Phdr>() {
        return None;
    }
    let (offset, count) = (header.e_phoff, header.e_phnum as usize);
    if offset as usize + count * size_of::<libc::Elf64_Phdr>() > 4096 {
        return None; // beyond what is surely mapped
    }
    // SAFETY: within the first page, as checked; the loader read the same table.
    Some(unsafe {
        core::slice::from_raw_parts((object.map_start + offset) as *const libc::Elf64_Phdr, count)
    })
}

/// The program headers of the executable, as the kernel told them. One with holes between its segments (`patchelf` leaves
/// some) is told by the loader segment by segment, and most of these begin with something else than the ELF header.
fn headers_of_the_program(object: &FoundObject) -> Option<&'static [libc::Elf64_Phdr]> {
    // SAFETY: `find_object` checked the pointer; the name is zero-terminated, and empty for the executable alone.
    if unsafe { *(*object.link_map).name } != 0 {
        return None;
    }
    // SAFETY: reads what the kernel gave the process.
    let [address, count] = [libc::AT_PHDR, libc::AT_PHNUM].map(|kind| unsafe { libc::getauxval(kind) });
    // SAFETY: the table that the loader itself read; an executable stays.
    (address != 0)
        .then(|| unsafe { core::slice::from_raw_parts(address as *const libc::Elf64_Phdr, count as usize) })
}

/// An ELF image as the loader mapped it.
struct Image {
    bias: u64,
    headers: &'static [libc::Elf64_Phdr],
}

impl Image {
    fn of(object: &FoundObject) -> Option<Self> {
        let headers = headers_in_front(object).or_else(|| headers_of_the_program(object))?;
        Some(Self { bias: bias(object), headers })
    }

    /// The bytes of the readable segment that holds an address.
    fn segment_with(&self, address: u64) -> Option<Segment<'static>> {
        let inside = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD
                && header.p_flags & libc::PF_R != 0
                && address.wrapping_sub(self.bias.wrapping_add(header.p_vaddr)) < header.p_filesz
        };
        let header = self.headers.iter().find(inside)?;
        let start = self.bias.wrapping_add(header.p_vaddr);
        // SAFETY: the loader mapped the segment readable from `start` for its file size; code on a stack keeps it there.
        let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, header.p_filesz as usize) };
        Some(Segment { bytes, start })
    }

    /// The build id, or nothing.
    fn build_id(&self) -> &'static [u8] {
        self.headers
            .iter()
            .filter(|header| header.p_type == libc::PT_NOTE)
            .find_map(|h| self.build_id_in(h))
            .unwrap_or(&[])
    }

    fn build_id_in(&self, header: &libc::Elf64_Phdr) -> Option<&'static [u8]> {
        const GNU_BUILD_ID: u32 = 3;
        let address = self.bias.wrapping_add(header.p_vaddr);
        let segment = self.segment_with(address)?;
        let offset = usize::try_from(address - segment.start).ok()?;
        let mut notes = segment.bytes.get(offset..)?.get(..header.p_filesz as usize)?;
        loop {
            let word =
                |at: usize| notes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            let (name, data, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
            let data_start = 12 + name.next_multiple_of(4);
            if kind == GNU_BUILD_ID && notes.get(12..16)? == b"GNU\0" {
                return notes.get(data_start..data_start + data);
            }
            notes = notes.get(data_start + data.next_multiple_of(4)..)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::arena::tests::scratch;

    static MODULES: Modules = Modules::new();

    #[test]
    fn code_of_this_test_and_of_libc_belongs_to_two_modules_with_unwind_tables() {
        let arena = scratch();
        let own = MODULES.find(&arena, scratch as *const () as u64).unwrap();
        let libc = MODULES.find(&arena, libc::qsort as *const () as u64).unwrap();
        assert_ne!(own.number, libc.number);
        assert!(own.unwind_header != 0 && libc.unwind_header != 0);
        assert_eq!(MODULES.find(&arena, scratch as *const () as u64 + 1).unwrap().number, own.number);
        let path = record(&arena, usize::from(libc.number.unwrap()) - 1).path.load(Relaxed);
        assert!(path as u32 > 8, "the path of libc is kept");
        assert!(record(&arena, usize::from(libc.number.unwrap()) - 1).build_id.load(Relaxed) as u32 == 20);
        MODULES.doubt();
        assert_eq!(MODULES.find(&arena, scratch as *const () as u64).unwrap().number, own.number);
        let heap = std::boxed::Box::new(0u8);
        assert!(MODULES.find(&arena, &raw const *heap as u64).is_none());
    }
}
