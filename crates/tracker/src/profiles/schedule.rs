//! When a heap profile is due, who writes it, and what it is called.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use heaplens_format::atomic::AtomicU32 as SharedU32;

use crate::process::clock::ticks;
use crate::process::path::PathBuffer;
use crate::process::settings::ProfileSettings;
use crate::sys::{self, Errno};
use crate::tables::arena::Arena;

/// So many ticks of the time stamp counter, a few milliseconds, pass before the clock is read again.
const TICKS_BETWEEN_READINGS: u64 = 1 << 23;
/// How long the end of the program waits for a thread that is writing.
const TIMEOUT_NS: u64 = 10_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
const NEVER: u64 = u64::MAX;

/// The profiles of this process.
#[derive(Debug)]
pub struct Profiles {
    is_on: AtomicBool,
    /// Whether the last one was written.
    pub(super) is_over: AtomicBool,
    /// The thread that is writing; 0: nobody.
    writer: SharedU32,
    /// Files so far, be they written or not.
    pub(super) count: AtomicU32,
    /// Bytes allocated so far.
    pub(super) allocated: AtomicU64,
    /// A profile is due when so many were.
    next_allocated: AtomicU64,
    /// Or when more than these are in use.
    next_in_use: AtomicU64,
    /// Or at this time.
    next_ns: AtomicU64,
    /// When the clock was read.
    clock_read: AtomicU64,
    prefix: PrefixCell,
}

/// How the names of this process's files begin.
#[derive(Debug)]
struct PrefixCell(UnsafeCell<PathBuffer>);
// SAFETY: written in `reset` only, when one thread exists that knows of the arena.
unsafe impl Sync for PrefixCell {}

impl Default for Profiles {
    fn default() -> Self {
        Self::new()
    }
}

impl Profiles {
    /// None are written, until it is reset. It is all zero, so that it takes no room in the library's file.
    pub const fn new() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            writer: SharedU32::new(0),
            count: AtomicU32::new(0),
            allocated: AtomicU64::new(0),
            next_allocated: AtomicU64::new(0),
            next_in_use: AtomicU64::new(0),
            next_ns: AtomicU64::new(0),
            clock_read: AtomicU64::new(0),
            prefix: PrefixCell(UnsafeCell::new(PathBuffer::EMPTY)),
        }
    }

    /// A process begins, or a forked child with an arena of its own, whose files have its number in their names.
    pub fn reset(&self, settings: &ProfileSettings, is_forked: bool) {
        let mut prefix = settings.prefix;
        if is_forked || settings.is_inherited {
            prefix.push(b"_");
            prefix.push_number(sys::process_id());
        }
        // SAFETY: see `PrefixCell`.
        unsafe { *self.prefix.0.get() = prefix };
        for word in [&self.allocated, &self.clock_read] {
            word.store(0, Relaxed);
        }
        self.count.store(0, Relaxed);
        self.writer.store(0, Relaxed);
        self.is_over.store(false, Relaxed);
        self.next_allocated.store(next_after(0, settings.allocated), Relaxed);
        self.next_in_use.store(next_after(0, settings.in_use), Relaxed);
        let seconds = settings.seconds.saturating_mul(SECOND_NS);
        self.next_ns.store(next_after(sys::monotonic_ns(), seconds), Relaxed);
        self.is_on.store(settings.is_wanted(), Relaxed);
    }

    /// Whether the program writes them.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Whether one is due now.
    pub(super) fn is_due(&self, arena: &Arena) -> bool {
        self.allocated.load(Relaxed) >= self.next_allocated.load(Relaxed)
            || arena.header().hot.live_bytes.load(Relaxed) > self.next_in_use.load(Relaxed)
            || (self.next_ns.load(Relaxed) != NEVER && self.is_time())
    }

    /// The clock is a system call: most of the time the time stamp counter says that it cannot be time yet.
    fn is_time(&self) -> bool {
        let now = ticks();
        if now.wrapping_sub(self.clock_read.load(Relaxed)) < TICKS_BETWEEN_READINGS {
            return false;
        }
        let is_time = sys::monotonic_ns() >= self.next_ns.load(Relaxed);
        if !is_time {
            self.clock_read.store(now, Relaxed); // else whoever asks again gets the same answer
        }
        is_time
    }

    /// Whether one is due still: another thread may have written it meanwhile.
    pub(super) fn takes_turn(&self, arena: &Arena, settings: &ProfileSettings) -> bool {
        let is_due = self.is_due(arena);
        if is_due {
            self.settle(arena, settings);
        }
        is_due
    }

    /// From here to the next one.
    fn settle(&self, arena: &Arena, settings: &ProfileSettings) {
        self.next_allocated.store(next_after(self.allocated.load(Relaxed), settings.allocated), Relaxed);
        let in_use = next_after(arena.header().hot.live_bytes.load(Relaxed), settings.in_use);
        self.next_in_use.fetch_max(in_use, Relaxed);
        let now = sys::monotonic_ns();
        if self.next_ns.load(Relaxed) <= now {
            self.next_ns.store(next_after(now, settings.seconds.saturating_mul(SECOND_NS)), Relaxed);
        }
    }

    /// `PREFIX.0001.heap`.
    pub(super) fn path(&self, number: u32) -> PathBuffer {
        // SAFETY: see `PrefixCell`.
        let mut path = unsafe { *self.prefix.0.get() };
        path.push(b".");
        for unit in [1000, 100, 10] {
            if number < unit {
                path.push(b"0");
            }
        }
        path.push_number(number);
        path.push(b".heap");
        path
    }

    /// Makes this thread the writer, where nobody is.
    pub(super) fn begin(&self) -> bool {
        // Acquire: pairs with the Release in `end`. The buffer is ours.
        !sys::is_confined() && self.writer.compare_exchange(0, sys::thread_id(), Acquire, Relaxed).is_ok()
    }

    pub(super) fn end(&self) {
        self.writer.store(0, Release);
        sys::wake(&self.writer);
    }

    /// At the end of the program: another thread would be cut off in the middle of its file.
    pub(super) fn wait(&self) {
        let start = sys::monotonic_ns();
        loop {
            let writer = self.writer.load(Relaxed);
            let left = start.saturating_add(TIMEOUT_NS).saturating_sub(sys::monotonic_ns());
            if writer == 0 || writer == sys::thread_id() || left == 0 {
                return;
            }
            match sys::wait_on(&self.writer, writer, left) {
                Ok(()) | Err(Errno(libc::EINTR | libc::EAGAIN)) => {}
                Err(_) => return,
            }
        }
    }
}

/// Where the next one is due; an interval of nothing is never over.
fn next_after(now: u64, interval: u64) -> u64 {
    if interval == 0 { NEVER } else { now.saturating_add(interval) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;

    const SETTINGS: ProfileSettings = ProfileSettings { allocated: 100, in_use: 50, ..ProfileSettings::NONE };

    fn due_at(profiles: &Profiles, arena: &Arena, allocated: u64, in_use: u64) -> bool {
        profiles.allocated.store(allocated, Relaxed);
        arena.header().hot.live_bytes.store(in_use, Relaxed);
        profiles.is_due(arena)
    }

    #[test]
    fn a_profile_is_due_at_its_interval_and_above_what_was_ever_in_use() {
        let (arena, profiles) = (scratch(), Profiles::new());
        profiles.reset(&SETTINGS, false);
        assert!(!due_at(&profiles, &arena, 99, 50));
        assert!(due_at(&profiles, &arena, 100, 0));
        assert!(due_at(&profiles, &arena, 99, 51));
        profiles.settle(&arena, &SETTINGS);
        assert!(!due_at(&profiles, &arena, 198, 101));
        assert!(due_at(&profiles, &arena, 199, 0));
        profiles.settle(&arena, &SETTINGS);
        assert!(!due_at(&profiles, &arena, 298, 101), "what was in use before counts on");
        assert!(due_at(&profiles, &arena, 298, 102));
    }

    #[test]
    fn an_interval_of_nothing_is_never_over() {
        let (arena, profiles) = (scratch(), Profiles::new());
        profiles.reset(&ProfileSettings { allocated: 0, in_use: 0, ..SETTINGS }, false);
        assert!(!due_at(&profiles, &arena, u64::MAX - 1, u64::MAX - 1));
    }

    #[test]
    fn files_have_four_digits_or_more_and_children_their_own_names() {
        let profiles = Profiles::new();
        let settings = ProfileSettings { prefix: PathBuffer::new(b"/tmp/p"), ..SETTINGS };
        profiles.reset(&settings, false);
        assert_eq!(profiles.path(1).bytes(), b"/tmp/p.0001.heap");
        assert_eq!(profiles.path(12_345).bytes(), b"/tmp/p.12345.heap");
        profiles.reset(&settings, true);
        let expected = std::format!("/tmp/p_{}.0099.heap", std::process::id());
        assert_eq!(profiles.path(99).bytes(), expected.as_bytes());
    }
}
