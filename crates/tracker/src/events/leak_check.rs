//! A leak check that the program itself asks for while it runs. It waits for the result: how many blocks are definitely lost now.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::process::wake_up::wake_recorder;
use crate::process::{is_own_arena, settings};
use crate::sys::{self, Errno};
use crate::tracker::Tracker;

/// As long as at the end of a process.
const TIMEOUT_NS: u64 = 10_000_000_000;

impl Tracker {
    /// How many blocks are definitely lost; `None` where nobody answers.
    #[cold]
    #[inline(never)]
    pub fn on_leak_check(&self) -> Option<u32> {
        if !is_own_arena() || settings().directory.is_empty() || sys::is_confined() {
            return None;
        }
        let header = self.arena.header();
        // Release: what the program did before, the recorder finds.
        let number = header.leak_checks_wanted.fetch_add(1, Release).wrapping_add(1);
        let is_made = wake_recorder() && self.wait_for_leak_check(number);
        is_made.then(|| header.leak_check_lost.load(Relaxed))
    }

    fn wait_for_leak_check(&self, number: u32) -> bool {
        let made = &self.arena.header().leak_checks_made;
        let end = sys::monotonic_ns().saturating_add(TIMEOUT_NS);
        loop {
            // Acquire: the result was written before.
            let seen = made.load(Acquire);
            let left = end.saturating_sub(sys::monotonic_ns());
            if seen >= number || left == 0 {
                return seen >= number;
            }
            match sys::wait_on(made, seen, left) {
                Ok(()) | Err(Errno(libc::EINTR | libc::EAGAIN | libc::ETIMEDOUT)) => {}
                Err(_) => return false,
            }
        }
    }
}
