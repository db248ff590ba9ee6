//! A heap snapshot that the program itself asks for, or that the agent asks for when the main loop is over. The thread waits until the recorder
//! has its copy: what is seen is what was held at the call, and not what is left a moment later.

use core::ffi::CStr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

use crate::process::wake_up::wake_recorder;
use crate::process::{is_own_arena, settings};
use crate::python::LoopEnd;
use crate::sys::{self, Errno};
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;

/// Of the mark.
const LABEL: &CStr = c"heaplens.snapshot";
/// Until the copy is there: milliseconds, and what an earlier snapshot still takes. Nobody is waited for where none reads the wake-up
/// FIFO.
const TIMEOUT_NS: u64 = 10_000_000_000;
/// The same where a loop is over and nobody asked for anything.
const LOOP_TIMEOUT_NS: u64 = 250_000_000;
/// A loop that has run for this long is asked about by its own count of runs, not only by that of all loops.
const LONG_LOOP_NS: u64 = 200_000_000;
/// How long one sleeps before it is checked whether this process is to fork the copy itself.
const SLEEP_NS: u64 = 10_000_000;

/// Whether an answer did not come: the recorder may not write into the arena of another user's process. Then none is waited for again.
static IS_UNANSWERED: AtomicBool = AtomicBool::new(false);

/// How many loops with marks are over: of ever more, ever fewer are asked about, except the first ends of each that runs for long.
static LOOPS_OVER: AtomicU32 = AtomicU32::new(0);
/// Whether nobody answered at the end of a loop in time.
static IS_LOOP_UNANSWERED: AtomicBool = AtomicBool::new(false);

impl Tracker {
    /// A loop whose iterations are marked is over, and its function still holds what it held: the recorder may want to see it, where
    /// memory grew.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_loop_over(&self, end: LoopEnd) {
        let over = LOOPS_OVER.fetch_add(1, Relaxed).wrapping_add(1);
        let has_turn = over.is_power_of_two()
            || end.runs.is_power_of_two() && sys::monotonic_ns().saturating_sub(end.first_ns) >= LONG_LOOP_NS;
        let may_ask = has_turn && !sys::is_confined() && !IS_LOOP_UNANSWERED.load(Relaxed);
        if !may_ask || !is_own_arena() || settings().directory.is_empty() {
            return;
        }
        let header = self.arena.header();
        // Another thread that asks at the same moment makes it one that the program asked for, which is as good.
        header.snapshot_of_loop.store(header.snapshots_wanted.load(Relaxed).wrapping_add(1), Relaxed);
        let number = header.snapshots_wanted.fetch_add(1, Release) + 1;
        if wake_recorder() && !self.wait_for_snapshot(number, LOOP_TIMEOUT_NS) {
            IS_LOOP_UNANSWERED.store(true, Relaxed);
        }
    }

    /// The program asks for a snapshot: marks the moment, and waits.
    #[cold]
    #[inline(never)]
    pub fn on_snapshot(&self) {
        self.on_user_mark(LABEL);
        if !is_own_arena() || settings().directory.is_empty() {
            return;
        }
        // Release: what the program did before, the recorder finds.
        let number = self.arena.header().snapshots_wanted.fetch_add(1, Release) + 1;
        if !IS_UNANSWERED.load(Relaxed) && wake_recorder() && !self.wait_for_snapshot(number, TIMEOUT_NS) {
            IS_UNANSWERED.store(true, Relaxed);
        }
    }

    /// The end of a section asks for a snapshot, and waits. `note` gets the number of the request before the recorder sees it.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_snapshot_of_section(&self, note: impl FnOnce(u32)) {
        if !is_own_arena() || settings().directory.is_empty() || IS_UNANSWERED.load(Relaxed) {
            return;
        }
        let wanted = &self.arena.header().snapshots_wanted;
        // Another thread that asks at the same moment gets the same number: one snapshot serves both.
        let number = wanted.load(Relaxed) + 1;
        note(number);
        // Release: what the program did before, the recorder finds.
        wanted.fetch_max(number, Release);
        if wake_recorder() && !self.wait_for_snapshot(number, TIMEOUT_NS) {
            IS_UNANSWERED.store(true, Relaxed);
        }
    }

    /// Whether the answer came in time.
    fn wait_for_snapshot(&self, number: u32, timeout_ns: u64) -> bool {
        let taken = &self.arena.header().snapshots_taken;
        let end = sys::monotonic_ns().saturating_add(timeout_ns);
        loop {
            let seen = taken.load(Acquire);
            let left = end.saturating_sub(sys::monotonic_ns());
            if seen >= number || left == 0 {
                return left != 0;
            }
            sys::clear_below_stack();
            match sys::wait_on(taken, seen, left.min(SLEEP_NS)) {
                Ok(()) | Err(Errno(libc::EINTR | libc::EAGAIN | libc::ETIMEDOUT)) => {}
                Err(_) => return false,
            }
            self.make_wanted_self_fork();
        }
    }

    /// The thread that waits allocates nothing, and may be the only one.
    fn make_wanted_self_fork(&self) {
        let copy = &self.arena.header().self_fork;
        if copy.wanted.load(Relaxed) > copy.begun.load(Relaxed)
            && let Some(guard) = Guard::enter(Nesting::Never)
        {
            self.make_self_fork(&guard);
        }
    }
}
