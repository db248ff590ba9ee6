//! Which thread holds which slot, by the name that the kernel has for it (`format::arena::thread`): read when it comes, since it may be
//! killed, and again when it ends or the process does, since programs name threads that run.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use heaplens_format::arena::Region;
use heaplens_format::arena::thread::{THREAD_SIZE, Thread, ThreadNames};

use crate::process::is_own_arena;
use crate::process::path::PathBuffer;
use crate::sys::{self, Descriptor};
use crate::tables::arena::Arena;
use crate::tables::slot_id::SlotId;

/// As the kernel has it: fifteen bytes and a zero.
type ThreadName = [u64; 2];

/// The first thread has the program's name, which says less than this.
const MAIN: ThreadName = [u64::from_le_bytes(*b"main\0\0\0\0"), 0];
/// Threads that still run when the process exits and whose names are read then.
const MOST_AT_EXIT: usize = 256;

/// This thread takes a slot.
#[cold]
pub(crate) fn on_slot_taken(arena: &Arena, slot: SlotId) {
    if slot != SlotId::NONE
        && is_own_arena()
        && let Some(record) = taken(arena, slot)
    {
        begin(record, sys::thread_id(), own_name());
    }
}

/// It gives the slot back.
#[cold]
pub(crate) fn on_slot_given_back(arena: &Arena, slot: SlotId) {
    if is_own_arena()
        && let Some(record) = existing(arena, slot)
    {
        settle(record, own_name());
    }
}

/// The process exits: names of the threads that still run are settled.
#[cold]
pub(crate) fn on_exit(arena: &Arena) {
    let own = sys::thread_id();
    let count = (arena.extent(Region::Threads).used.load(Relaxed) / THREAD_SIZE as u64) as u32;
    let all = (1..count).filter_map(|slot| existing(arena, SlotId::new(slot)));
    for record in all.filter(|record| record.holder.load(Relaxed) != 0).take(MOST_AT_EXIT) {
        let thread = record.holder.load(Relaxed);
        let name = if thread == own { Some(own_name()) } else { name_of(thread) };
        name.into_iter().for_each(|name| settle(record, name));
    }
}

fn begin(record: &Thread, thread: u32, name: ThreadName) {
    if record.names.load(Relaxed) == ThreadNames::Open as u32 && record.holder.load(Relaxed) == 0 {
        put(record, name);
    }
    record.holder.store(thread, Relaxed);
}

fn settle(record: &Thread, name: ThreadName) {
    let names = record.names.load(Relaxed);
    if names == ThreadNames::Open as u32 {
        put(record, name);
        record.names.store(ThreadNames::One as u32, Relaxed);
    } else if record.name.each_ref().map(|word| word.load(Relaxed)) != name {
        record.names.store(ThreadNames::Several as u32, Relaxed);
    }
    record.holder.store(0, Relaxed);
}

fn put(record: &Thread, name: ThreadName) {
    record.name.iter().zip(name).for_each(|(word, part)| word.store(part, Relaxed));
}

/// The record of a slot, which is made where there is none yet. Threads that come at once may take a few more than are needed.
fn taken(arena: &Arena, slot: SlotId) -> Option<&Thread> {
    while end_of(slot) > arena.extent(Region::Threads).used.load(Relaxed) {
        arena.take(Region::Threads, THREAD_SIZE as u64)?;
    }
    existing(arena, slot)
}

fn existing(arena: &Arena, slot: SlotId) -> Option<&Thread> {
    let extent = arena.extent(Region::Threads);
    // Acquire: as in `Arena::take`.
    let there = extent.used.load(Relaxed).min(extent.reserved.load(Acquire));
    // SAFETY: the record is within what is reserved.
    (end_of(slot) <= there)
        .then(|| unsafe { arena.record(Region::Threads, slot.get() as usize * THREAD_SIZE) })
}

fn end_of(slot: SlotId) -> u64 {
    (u64::from(slot.get()) + 1) * THREAD_SIZE as u64
}

fn own_name() -> ThreadName {
    if sys::thread_id() == sys::process_id() { MAIN } else { sys::thread_name() }
}

/// Of another thread of this process.
fn name_of(thread: u32) -> Option<ThreadName> {
    if thread == sys::process_id() {
        return Some(MAIN);
    }
    let mut path = PathBuffer::EMPTY;
    path.push(b"/proc/self/task/");
    path.push_number(thread);
    path.push(b"/comm");
    let mut bytes = [0; 16];
    let length = Descriptor::open(path.as_c_str(), libc::O_RDONLY, 0).ok()?.read(&mut bytes).len();
    bytes[length.saturating_sub(1)..].fill(0); // it ends with a new line
    let word = |at: usize| core::array::from_fn(|byte| bytes[at + byte]);
    Some([u64::from_le_bytes(word(0)), u64::from_le_bytes(word(8))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;
    use heaplens_format::arena::thread::name_of_all;

    fn named(text: &[u8; 8]) -> ThreadName {
        [u64::from_le_bytes(*text), 0]
    }

    fn name(record: &Thread) -> Option<[u8; 8]> {
        // SAFETY: a record is so many bytes.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const *record).cast::<u8>(), THREAD_SIZE) };
        let name = name_of_all(bytes)?;
        Some(core::array::from_fn(|at| name.get(at).copied().unwrap_or(0)))
    }

    #[test]
    fn a_thread_slot_has_the_last_name_of_its_threads_where_that_is_one() {
        let arena = scratch();
        let record = taken(&arena, SlotId::new(40)).unwrap();
        begin(record, 7, named(b"python\0\0"));
        assert_eq!(name(record), Some(*b"python\0\0"), "until it says otherwise");
        settle(record, named(b"worker\0\0"));
        assert_eq!(name(record), Some(*b"worker\0\0"));
        begin(record, 8, named(b"python\0\0"));
        assert_eq!(name(record), None, "it may take any name yet");
        settle(record, named(b"worker\0\0"));
        assert_eq!(name(record), Some(*b"worker\0\0"));
        begin(record, 9, named(b"python\0\0"));
        settle(record, named(b"loader\0\0"));
        assert_eq!(name(record), None);
        assert!(existing(&arena, SlotId::new(41)).is_none() && existing(&arena, SlotId::new(39)).is_some());
    }

    #[test]
    fn a_thread_is_called_the_same_from_inside_and_from_outside() {
        let named = std::thread::Builder::new().name("fifteen letters at most".into());
        let names = named.spawn(|| [Some(own_name()), name_of(sys::thread_id())]).unwrap().join().unwrap();
        let name = b"fifteen letters\0";
        let words = [0, 8].map(|at| u64::from_le_bytes(core::array::from_fn(|byte| name[at + byte])));
        assert_eq!(names, [Some(words); 2]);
        assert_eq!(name_of(sys::process_id()), Some(MAIN));
    }
}
