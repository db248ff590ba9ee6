//! The life of this process as the agent sees it: start, `fork`, `exec`, exit.
//!
//! Whether we are recording is one word on a page that the kernel wipes in every child (`MADV_WIPEONFORK`). So a child
//! knows that it is one at its first event, however it was made (`fork`, `_Fork`, a raw `clone`), without a fork handler,
//! and makes an arena of its own; a child that only calls `exec` makes none.
//!
//! ```text
//!   UNBORN ──start──▶ RECORDING ──trouble──▶ BLIND
//!      ▲                  │ fork (the page is wiped)
//!      └──────────────────┘ in the child
//! ```

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use heaplens_format::Loss;
use heaplens_format::arena::header::{
    COMMAND_OFFSET, EXECUTABLE_OFFSET, FLAG_FORKED, FLAG_LEAVING, FLAG_SHARED_GRANULES, KEPT_REGISTERS,
};
use heaplens_format::arena::ledger::LedgerMoment;
use heaplens_format::arena::{End, PAGE};
use heaplens_format::environment::ARENA_SUFFIX;

use crate::process::clock as cost;
use crate::process::settings::{Path, Settings};
use crate::requests as snapshot;
use crate::requests::ledger;
use crate::sys::{self, Descriptor, Errno};
use crate::thread::names as threads;
use crate::thread::thread_slot::{self as seat, Guard};
use crate::tracker::{Tracker, tracker};

/// What the agent does in this process now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Life {
    /// Nothing yet: before the start, or in a child that has not had an event.
    Unborn = 0,
    /// It records.
    Recording = 1,
    /// It gave up.
    Blind = 2,
}

/// What is known of the life of this process; all zero in a child.
#[repr(C)]
struct LifeWords {
    life: AtomicU32,
    /// Whether it records samples of glibc's blocks: then a hook may pass all others on at once.
    quick: AtomicU32,
}

static BEFORE_START: LifeWords =
    LifeWords { life: AtomicU32::new(Life::Unborn as u32), quick: AtomicU32::new(0) };
static LIFE: AtomicPtr<LifeWords> = AtomicPtr::new((&raw const BEFORE_START).cast_mut());
static STARTED: AtomicBool = AtomicBool::new(false);
/// This process as it numbers itself; the arena has the number that the recorder knows it by.
static OWN_PID: AtomicU32 = AtomicU32::new(0);
static FORKED: AtomicBool = AtomicBool::new(false);
static SHARED_GRANULES: AtomicBool = AtomicBool::new(false);

/// The settings: written once in `start`, before anyone reads.
struct SettingsCell(UnsafeCell<Settings>);
// SAFETY: written once, before the life word says that anything may be read (Release/Acquire through `STARTED`).
unsafe impl Sync for SettingsCell {}
static SETTINGS: SettingsCell = SettingsCell(UnsafeCell::new(Settings::NONE));

/// What the recorder asked for.
pub fn settings() -> &'static Settings {
    // SAFETY: see `SettingsCell`.
    unsafe { &*SETTINGS.0.get() }
}

/// This process as it numbers itself.
pub fn own_pid() -> u32 {
    OWN_PID.load(Relaxed)
}

/// What the agent does now.
#[inline(always)]
pub fn life() -> Life {
    // SAFETY: the pointer always leads to a word that is never unmapped.
    match unsafe { (*LIFE.load(Relaxed)).life.load(Relaxed) } {
        1 => Life::Recording,
        0 => Life::Unborn,
        _ => Life::Blind,
    }
}

/// Whether events that are no samples need nothing from us at all, not even a guard: their real functions call no hook.
#[inline(always)]
pub fn is_quick() -> bool {
    // SAFETY: as in `life`.
    unsafe { (*LIFE.load(Relaxed)).quick.load(Relaxed) != 0 }
}

/// Whether events are recorded; in a child of a recorded process this is where it begins to.
#[inline(always)]
pub fn is_recording(guard: &Guard) -> bool {
    match life() {
        Life::Recording => true,
        Life::Unborn => restart(guard),
        Life::Blind => false,
    }
}

/// Whether this process began by `fork`, so that it has blocks that are not in its tables.
pub fn is_forked() -> bool {
    FORKED.load(Relaxed)
}

/// Starts recording, where somebody wants it. Called once, by the first hook or the constructor; `shared_granules`: the allocator is
/// not glibc's.
pub fn start(shared_granules: bool) {
    if STARTED.load(Acquire) {
        return;
    }
    // SAFETY: nobody reads the settings before `STARTED`.
    unsafe { *SETTINGS.0.get() = Settings::from_process() };
    if settings().is_dormant() {
        return set_life(Life::Blind);
    }
    SHARED_GRANULES.store(shared_granules, Relaxed);
    tracker().interval.store(settings().sample_interval, Relaxed);
    cost::calibrate();
    seat::watch_thread_ends();
    make_life_page();
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
    FORKED.store(true, Relaxed);
    seat::on_fork(guard.seat_id());
    tracker().unwinder.reset();
    let ready = make_arena(tracker(), true).is_ok();
    if ready {
        set_life(Life::Recording);
        threads::on_seated(guard.seat_id());
    } else {
        tracker().arena.lose(Loss::ProcessUnseen); // the parent's, which is mapped here still
    }
    ready
}

fn set_life(life: Life) {
    let quick = life == Life::Recording && tracker().sample_interval() != 0 && !SHARED_GRANULES.load(Relaxed);
    // SAFETY: as in `life`. Release: whoever sees RECORDING sees the arena.
    unsafe {
        let words = LIFE.load(Relaxed);
        (*words).quick.store(u32::from(quick), Release);
        (*words).life.store(life as u32, Release);
    }
}

fn make_life_page() {
    let Some(page) = sys::private_pages(PAGE) else { return };
    // Kernels before 4.14 do not know the advice: there a forked child would write into its parent's tables. The word
    // stays where it is not wiped, and the pid is compared at every exit; the oldest kernel we meet is 4.18.
    if sys::advise(page, PAGE, libc::MADV_WIPEONFORK).is_ok() {
        LIFE.store(page as *mut LifeWords, Release);
    }
}

fn make_arena(tracker: &Tracker, forked: bool) -> Result<(), Errno> {
    let numbers = sys::process_numbers();
    let (file, path) = match settings().profile.is_wanted() {
        true => (Descriptor::nameless()?, Path::EMPTY),
        false => create_file(numbers.pid)?,
    };
    if let Err(errno) = tracker.arena.create(file, path) {
        sys::remove_file(path.as_c_str());
        return Err(errno);
    }
    OWN_PID.store(sys::process_id(), Relaxed);
    let arena = &tracker.arena;
    let shared = SHARED_GRANULES.load(Relaxed);
    tracker.blocks.reset(shared, tracker.sample_interval() != 0);
    tracker.samples.reset(tracker.sample_interval());
    tracker.marks.reset();
    tracker.requests.reset();
    tracker.counters.reset();
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
    header.trampoline.store(snapshot::offer_trampoline() as u64, Relaxed);
    header.rss_start.store(resident_bytes_of_program(tracker), Relaxed);
    write_texts(tracker);
    arena.publish();
    Ok(())
}

/// What is resident without us.
pub(crate) fn resident_bytes_of_program(tracker: &Tracker) -> u64 {
    let header = tracker.arena.header();
    let reserved: u64 = header.regions.iter().map(|extent| extent.reserved.load(Relaxed)).sum();
    sys::resident_bytes().saturating_sub(reserved + header.private_bytes.load(Relaxed))
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
fn create_file(pid: u32) -> Result<(Descriptor, Path), Errno> {
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

/// The program begins to leave: exit handlers and destructors come next. Its stack and registers of now are noted. Whether this is
/// the first time that it says so, in the process that the arena belongs to.
pub fn on_leaving(stack: u64, registers: [u64; KEPT_REGISTERS]) -> bool {
    if !is_own_arena() {
        return false;
    }
    let header = tracker().arena.header();
    let is_first = header.flags.fetch_or(FLAG_LEAVING, Relaxed) & FLAG_LEAVING == 0;
    if is_first {
        header
            .leaving_registers
            .iter()
            .zip(registers)
            .for_each(|(word, register)| word.store(register, Relaxed));
        header.leaving_stack.store(stack, Relaxed);
    }
    is_first
}

/// What is resident at the end is read before something is given back that the program would have kept.
pub fn before_test_at_exit() {
    ledger::ask(LedgerMoment::Exit);
    tracker().arena.header().rss_end.store(resident_bytes_of_program(tracker()), Relaxed);
}

/// The process exits with this code.
pub fn on_exit(code: i32) {
    if !is_own_arena() {
        return;
    }
    tracker().write_last_profile();
    threads::on_exit(tracker());
    ledger::ask(LedgerMoment::Exit);
    let header = tracker().arena.header();
    header.end_code.store(code, Relaxed);
    if header.rss_end.load(Relaxed) == 0 {
        header.rss_end.store(resident_bytes_of_program(tracker()), Relaxed);
    }
    header.end_ns.store(sys::monotonic_ns(), Relaxed);
    header.end.store(End::Exited as u32, Release);
}

/// The process is about to become another program.
pub fn before_exec() {
    if is_own_arena() {
        let header = tracker().arena.header();
        header.rss_end.store(resident_bytes_of_program(tracker()), Relaxed);
        header.end_ns.store(sys::monotonic_ns(), Relaxed);
        header.end.store(End::Replaced as u32, Release);
    }
}

/// It did not.
pub fn after_failed_exec() {
    if is_own_arena() {
        let header = tracker().arena.header();
        header.end.store(End::Unseen as u32, Relaxed);
        header.end_ns.store(0, Relaxed);
        header.rss_end.store(0, Relaxed);
    }
}

/// Whether the arena belongs to this process: the child of a `vfork` runs on its parent's memory.
pub(crate) fn is_own_arena() -> bool {
    life() == Life::Recording && OWN_PID.load(Relaxed) == sys::process_id()
}
