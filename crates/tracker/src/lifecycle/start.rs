//! How recording begins: at the start of the process, or at the first event of a child, which makes an arena of its own. It owns the
//! order in which the tables come up; what they hold is theirs.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::PAGE;
use heaplens_format::arena::header::{COMMAND_OFFSET, EXECUTABLE_OFFSET, FLAG_FORKED, FLAG_SHARED_GRANULES};
use heaplens_format::environment::{ARENA_SUFFIX, Guarding, Objects};
use heaplens_format::{Addr, Bytes, Loss};

use super::threads::watch_thread_ends;
use crate::process::path::PathBuffer;
use crate::process::{self, Life, clock, life, settings};
use crate::requests::offer_trampoline;
use crate::sys::{self, Descriptor, Errno};
use crate::tables::frees::FREES;
use crate::tables::mappings;
use crate::thread::guard::Guard;
use crate::thread::names;
use crate::thread::thread_slot;
use crate::tracker::{Tracker, tracker};

static STARTED: AtomicBool = AtomicBool::new(false);
static SHARED_GRANULES: AtomicBool = AtomicBool::new(false);

/// Whether events are recorded; in a child of a recorded process this is where it begins to.
#[inline(always)]
pub fn is_recording(guard: &Guard) -> bool {
    match life() {
        Life::Recording => true,
        Life::Unborn => restart(guard),
        Life::Blind => false,
    }
}

/// Starts recording, where somebody wants it. Called once, by the first hook or the constructor; `shared_granules`: the allocator is
/// not glibc's.
pub fn start(shared_granules: bool) {
    if STARTED.load(Acquire) {
        return;
    }
    // SAFETY: nobody reads the settings before `STARTED`.
    let settings = unsafe { process::read_settings() };
    if settings.is_dormant() {
        return set_life(Life::Blind);
    }
    SHARED_GRANULES.store(shared_granules, Relaxed);
    tracker().interval.store(settings.sample_interval, Relaxed);
    tracker().memcheck.store(settings.memcheck, Relaxed);
    clock::calibrate();
    tracker().checks.start(&settings.checks, settings.guarded_code);
    watch_thread_ends();
    process::make_life_page();
    STARTED.store(true, Release);
    let life = if make_arena(tracker(), false).is_ok() { Life::Recording } else { Life::Blind };
    set_life(life);
}

/// A child has its first event: it gets an arena of its own.
#[cold]
fn restart(guard: &Guard) -> bool {
    if !STARTED.load(Acquire) {
        return false;
    }
    set_life(Life::Blind); // for other threads of the child, while this one is at it
    process::set_forked();
    thread_slot::on_fork(guard.slot_id());
    tracker().unwinder.reset();
    tracker().checks.on_fork(&settings().checks);
    let ready = make_arena(tracker(), true).is_ok();
    if ready {
        set_life(Life::Recording);
        names::on_slot_taken(&tracker().arena, guard.slot_id());
    } else {
        tracker().arena.lose(Loss::ProcessUnseen); // the parent's, which is mapped here still
    }
    ready
}

fn set_life(life: Life) {
    let by_turns = matches!(settings().checks.guarding, Guarding::None | Guarding::Sample(_));
    let quick = life == Life::Recording
        && tracker().sample_interval() != 0
        && !SHARED_GRANULES.load(Relaxed)
        && by_turns
        && !settings().checks.canaries;
    process::set_life(life, quick);
}

fn make_arena(tracker: &Tracker, forked: bool) -> Result<(), Errno> {
    let numbers = sys::process_numbers();
    let (file, path) = match settings().profile.is_wanted() {
        true => (Descriptor::nameless()?, PathBuffer::EMPTY),
        false => create_file(numbers.pid)?,
    };
    if let Err(errno) = tracker.arena.create(file, path) {
        sys::remove_file(path.as_c_str());
        return Err(errno);
    }
    sys::note_own_pid();
    let arena = &tracker.arena;
    let shared = SHARED_GRANULES.load(Relaxed);
    tracker.blocks.reset(shared, tracker.sample_interval() != 0);
    tracker.samples.reset(tracker.sample_interval());
    tracker.marks.reset();
    tracker.sections.reset();
    tracker.requests.reset();
    tracker.unwinder.modules.watch.reset();
    tracker.counters.reset();
    if forked && settings().memcheck {
        FREES.clear();
    }
    tracker.profiles.reset(&settings().profile, forked);
    arena.take_pages(1).ok_or(Errno(libc::ENOSPC))?; // page 0 stands for "none"
    if !tracker.trie.reset(arena) {
        return Err(Errno(libc::ENOSPC));
    }
    let header = arena.header();
    header.pid.store(numbers.pid, Relaxed);
    header.parent.store(numbers.parent, Relaxed);
    let flags = if shared { FLAG_SHARED_GRANULES } else { 0 } | if forked { FLAG_FORKED } else { 0 };
    header.flags.store(flags, Relaxed);
    header.sample_interval.store(tracker.sample_interval(), Relaxed);
    header.start_ns.store(sys::monotonic_ns(), Relaxed);
    header.own_ranges.store(sys::own_ranges() as u64, Relaxed);
    header.object_samples.store(tracker.samples.table(), Relaxed);
    header.trampoline.store(offer_trampoline() as u64, Relaxed);
    // In a child Python's objects are recorded from the start: what its parent put in place is there.
    let interval = if tracker.samples.watched.generation() == 0 { 0 } else { object_interval(tracker) };
    header.object_interval.store(interval, Relaxed);
    header.rss_start.store(arena.resident_bytes_of_program(), Relaxed);
    write_texts(tracker);
    let (start, length) = tracker.checks.guards.range();
    if length != 0 {
        mappings::on_map_by_allocator(arena, Addr::new(start as u64), Bytes::new(length as u64));
    }
    tracker.publish_checks();
    arena.publish();
    Ok(())
}

/// As the arena has it: 1 when every object is recorded.
fn object_interval(tracker: &Tracker) -> u64 {
    if settings().objects == Objects::All { 1 } else { tracker.samples.interval() }
}

fn write_texts(tracker: &Tracker) {
    let mut buffer = [0u8; PAGE];
    let executable = sys::read_link(c"/proc/self/exe", &mut buffer);
    tracker.arena.write_header_text(EXECUTABLE_OFFSET, executable);
    if let Ok(file) = Descriptor::open(c"/proc/self/cmdline", libc::O_RDONLY, 0) {
        tracker.arena.write_header_text(COMMAND_OFFSET, file.read(&mut buffer));
    }
}

/// Makes the file of an arena: `PID.N.arena`, where N counts the program images of the process.
fn create_file(pid: u32) -> Result<(Descriptor, PathBuffer), Errno> {
    const MOST_IMAGES: u32 = 10_000;
    for image in 0..MOST_IMAGES {
        let mut path = settings().directory;
        path.push(b"/");
        path.push_number(pid);
        path.push(b".");
        path.push_number(image);
        path.push(ARENA_SUFFIX.as_bytes());
        match Descriptor::open(path.as_c_str(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) {
            Ok(file) => return Ok((file, path)),
            Err(Errno(libc::EEXIST)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno(libc::EEXIST))
}
