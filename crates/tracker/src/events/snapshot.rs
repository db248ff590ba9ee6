//! A heap snapshot that the program itself asks for. It waits until the recorder has its copy: what is seen is what was held at the
//! call, and not what is left a moment later.

use core::ffi::CStr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::process::wake_up::wake_recorder;
use crate::process::{is_own_arena, settings};
use crate::sys::{self, Errno};
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;

/// Of the mark.
const LABEL: &CStr = c"heaplens.snapshot";
/// Until the copy is there: milliseconds, and what an earlier snapshot still takes. Nobody is waited for where none reads the wake-up
/// FIFO.
const TIMEOUT_NS: u64 = 10_000_000_000;
/// How long one sleeps before it is checked whether this process is to fork the copy itself.
const SLEEP_NS: u64 = 10_000_000;

/// Whether an answer did not come: the recorder may not write into the arena of another user's process. Then none is waited for again.
static IS_UNANSWERED: AtomicBool = AtomicBool::new(false);

impl Tracker {
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
        if !IS_UNANSWERED.load(Relaxed) && wake_recorder() && !self.wait_for_snapshot(number) {
            IS_UNANSWERED.store(true, Relaxed);
        }
    }

    /// Whether the answer came in time.
    fn wait_for_snapshot(&self, number: u32) -> bool {
        let taken = &self.arena.header().snapshots_taken;
        let end = sys::monotonic_ns().saturating_add(TIMEOUT_NS);
        loop {
            let seen = taken.load(Acquire);
            let left = end.saturating_sub(sys::monotonic_ns());
            if seen >= number || left == 0 {
                return left != 0;
            }
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
