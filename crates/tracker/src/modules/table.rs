//! Which object file covers a code address, where its unwind tables are, and the table of modules in the arena.
//!
//! A module is entered when its code first appears on a stack. After a `dlclose` every entry is doubtful until its code is seen again: a
//! library that came back unchanged at the same address keeps its number, another one at that address gets a new one.

use core::sync::atomic::AtomicU16;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use heaplens_format::Addr;
use heaplens_format::arena::frame::split_frame;
use heaplens_format::arena::table::ModuleRecord;
use heaplens_format::arena::{MODULE_SIZE, Region};
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};
use heaplens_format::object_file::is_users;

use super::image::{Image, Segment};
use super::interpreter::Python;
use super::library_watch::LibraryWatch;
use super::loaded::{FoundObject, bias, exports, find_object, full_path};
use crate::process::settings;
use crate::tables::arena::Arena;

/// The most modules of one process; the 65,535th would not fit a frame.
const CAPACITY: usize = 8192;
const PAGE_BITS: u32 = 12;
const NUMBER_BITS: u32 = 16;

/// What unwinding needs of a module.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its number; `None` when the table is full.
    pub number: Option<u16>,
    /// The address of `.eh_frame_hdr`, 0 where there is none.
    pub unwind_header: Addr,
    /// The readable segment that holds the unwind tables.
    pub segment: Segment<'static>,
}

/// What is kept beside the record in the arena. Entries are claimed one after the other: threads that meet the same module at the same
/// time agree on the number of the one that comes first.
#[derive(Debug)]
struct Private {
    /// Where it begins and its number ([`claim_of`]); 0 behind the last entry.
    claim: AtomicU64,
    link_map: AtomicU64,
    generation: AtomicU32,
    is_gone: AtomicBool,
}

impl Private {
    const fn new() -> Self {
        Self {
            claim: AtomicU64::new(0),
            link_map: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            is_gone: AtomicBool::new(false),
        }
    }

    fn set(&self, object: &FoundObject, generation: u32) {
        self.generation.store(generation, Relaxed);
        self.link_map.store(object.link_map as u64, Relaxed);
        self.is_gone.store(false, Relaxed);
    }

    /// Whether the library is no longer the one that was entered. Where this says so it is not asked again.
    fn has_left(&self) -> bool {
        if self.is_gone.load(Relaxed) {
            return false;
        }
        let (start, link_map) = (start_of(self.claim.load(Relaxed)), self.link_map.load(Relaxed));
        if link_map == 0 {
            return false; // just claimed
        }
        let there = find_object(start);
        let same =
            there.is_some_and(|object| object.map_start == start && object.link_map as u64 == link_map);
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
    /// The one that we are in ourselves: Python's allocator calls `malloc` through us. 0 while it was on no stack.
    own: AtomicU16,
    /// One bit for each that is the user's own, and whether there is any.
    users: [AtomicU64; CAPACITY / 64],
    has_users: AtomicBool,
    /// The interpreter among them, where there is one.
    pub interpreter: Python,
    /// Libraries that are watched for.
    pub watch: LibraryWatch,
}

impl Modules {
    /// None yet.
    pub const fn new() -> Self {
        Self {
            count: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            private: [const { Private::new() }; CAPACITY],
            own: AtomicU16::new(0),
            users: [const { AtomicU64::new(0) }; CAPACITY / 64],
            has_users: AtomicBool::new(false),
            interpreter: Python::new(),
            watch: LibraryWatch::new(),
        }
    }

    /// The number of our own module, where it was on a stack.
    pub fn own(&self) -> u16 {
        self.own.load(Relaxed)
    }

    /// Whether any is the user's own.
    #[inline(always)]
    pub fn has_users(&self) -> bool {
        self.has_users.load(Relaxed)
    }

    /// Whether a frame is in code of the user's own.
    #[inline(always)]
    pub fn is_users(&self, frame: u64) -> bool {
        let number = usize::from(split_frame(frame).0);
        self.users.get(number / 64).is_some_and(|bits| bits.load(Relaxed) >> (number % 64) & 1 != 0)
    }

    /// The object file that a frame's code is in, and the address there as the file has it.
    pub fn place_of<'a>(&self, arena: &'a Arena, frame: u64) -> Option<(&'a [u8], u64)> {
        let (number, address) = split_frame(frame);
        let count = arena.extent(Region::Modules).used.load(Relaxed) as usize / MODULE_SIZE;
        let index = usize::from(number).checked_sub(1).filter(|&index| index < count.min(CAPACITY))?;
        let record = record(arena, index);
        if record.published.load(Acquire) != 1 {
            return None;
        }
        // A frame has a return address, one behind the instruction.
        Some((string(arena, record.path.load(Relaxed)), address.wrapping_sub(1 + record.bias.load(Relaxed))))
    }

    /// Forgets everything: the arena was replaced.
    pub fn reset(&self) {
        // What stands there of the old arena may not be taken for an entry that a thread of the new one is writing.
        self.has_users.store(false, Relaxed);
        self.users.iter().for_each(|bits| bits.store(0, Relaxed));
        let count = (self.count.swap(0, Relaxed) as usize).min(CAPACITY);
        for private in &self.private[..count] {
            private.link_map.store(0, Relaxed);
            private.claim.store(0, Relaxed);
        }
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
    pub fn find(&self, arena: &Arena, address: Addr) -> Option<Found> {
        let object = find_object(address.get())?;
        let image = Image::of(&object)?;
        Some(Found {
            number: self.number(arena, &object, &image),
            unwind_header: Addr::new(object.unwind_header),
            segment: image.segment_with(object.unwind_header)?,
        })
    }

    fn number(&self, arena: &Arena, object: &FoundObject, image: &Image) -> Option<u16> {
        let generation = self.generation.load(Relaxed);
        let mut written = None;
        for (index, private) in self.private.iter().enumerate() {
            // Acquire: pairs with the Release of the claim, before which the record was written.
            let mut claim = private.claim.load(Acquire);
            if claim == 0 {
                let number = written.or_else(|| write(arena, object, image))?;
                written = Some(number);
                let own = claim_of(object.map_start, number);
                match private.claim.compare_exchange(0, own, AcqRel, Acquire) {
                    Ok(_) => {
                        private.set(object, generation);
                        self.count.fetch_max(index as u32 + 1, Release);
                        self.announce(arena, number, object);
                        return Some(number);
                    }
                    Err(other) => claim = other,
                }
            }
            if start_of(claim) != object.map_start {
                continue;
            }
            let number = number_of(claim);
            if private.generation.load(Relaxed) == generation {
                return Some(number);
            }
            if self.is_same(arena, number, object, image) {
                private.set(object, generation);
                self.announce(arena, number, object); // it may have been away
                return Some(number);
            }
        }
        None
    }

    fn is_same(&self, arena: &Arena, number: u16, object: &FoundObject, image: &Image) -> bool {
        let record = record(arena, usize::from(number) - 1);
        record.published.load(Acquire) == 1
            && record.bias.load(Relaxed) == bias(object)
            && record.end.load(Relaxed) == object.map_end
            && strings_equal(arena, record.path.load(Relaxed), full_path(object).bytes())
            && strings_equal(arena, record.build_id.load(Relaxed), image.build_id())
    }

    /// It may be our own, a library that is watched for, or an interpreter.
    fn announce(&self, arena: &Arena, number: u16, object: &FoundObject) {
        if (object.map_start..object.map_end).contains(&(exports as *const () as u64)) {
            self.own.store(number, Relaxed);
        } else if core::str::from_utf8(full_path(object).bytes()).is_ok_and(is_users) {
            let bits = self.users.get(usize::from(number) / 64);
            bits.into_iter().for_each(|bits| {
                bits.fetch_or(1 << (number % 64), Relaxed);
            });
            self.has_users.store(true, Relaxed);
        }
        if settings().profile.is_wanted() {
            return; // whose reader knows addresses alone
        }
        self.watch.on_module(full_path(object).bytes());
        if let Some(exports) = exports(object) {
            self.interpreter.on_module(arena, number, full_path(object).bytes(), &exports);
        }
    }
}

impl Default for Modules {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the record of a module; its number. Where another thread's claim comes first, nobody refers to it.
#[cold]
fn write(arena: &Arena, object: &FoundObject, image: &Image) -> Option<u16> {
    let index = arena.take(Region::Modules, MODULE_SIZE as u64)? / MODULE_SIZE;
    let number = u16::try_from(index + 1).ok().filter(|_| index < CAPACITY)?;
    let record = record(arena, index);
    record.bias.store(bias(object), Relaxed);
    record.start.store(object.map_start, Relaxed);
    record.end.store(object.map_end, Relaxed);
    record.path.store(put_string(arena, full_path(object).bytes()), Relaxed);
    record.build_id.store(put_string(arena, image.build_id()), Relaxed);
    // Release: a reader that sees 1 sees a whole record.
    record.published.store(1, Release);
    Some(number)
}

/// A module's start, which is that of a page, and its number in one word.
const fn claim_of(start: u64, number: u16) -> u64 {
    start >> PAGE_BITS << NUMBER_BITS | number as u64
}

const fn start_of(claim: u64) -> u64 {
    claim >> NUMBER_BITS << PAGE_BITS
}

const fn number_of(claim: u64) -> u16 {
    claim as u16
}

fn record(arena: &Arena, index: usize) -> &ModuleRecord {
    // SAFETY: callers pass indices of records that `write` took.
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
    string(arena, word) == text
}

fn string(arena: &Arena, word: u64) -> &[u8] {
    let (offset, length) = ((word >> 32) as usize, word as u32 as usize);
    let address = arena.address(Region::Strings, offset) as *const u8;
    // SAFETY: the word was made by `put_string`; the range is never written again.
    unsafe { core::slice::from_raw_parts(address, length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;

    static MODULES: Modules = Modules::new();

    #[test]
    fn code_of_this_test_and_of_libc_belongs_to_two_modules_with_unwind_tables() {
        let arena = scratch();
        let own = MODULES.find(&arena, Addr::new(scratch as *const () as u64)).unwrap();
        let libc = MODULES.find(&arena, Addr::new(libc::qsort as *const () as u64)).unwrap();
        assert_ne!(own.number, libc.number);
        assert!(own.unwind_header.get() != 0 && libc.unwind_header.get() != 0);
        assert_eq!(
            MODULES.find(&arena, Addr::new(scratch as *const () as u64 + 1)).unwrap().number,
            own.number
        );
        let path = record(&arena, usize::from(libc.number.unwrap()) - 1).path.load(Relaxed);
        assert!(path as u32 > 8, "the path of libc is kept");
        assert!(record(&arena, usize::from(libc.number.unwrap()) - 1).build_id.load(Relaxed) as u32 == 20);
        MODULES.doubt();
        assert_eq!(MODULES.find(&arena, Addr::new(scratch as *const () as u64)).unwrap().number, own.number);
        let heap = std::boxed::Box::new(0u8);
        assert!(MODULES.find(&arena, Addr::new(&raw const *heap as u64)).is_none());
    }
}
