//! The start of the agent: the first hook, or the constructor, whichever comes first, on the only thread that exists then.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::Loss;
use heaplens_tracker::{lifecycle, process, tracker};

#[cfg(feature = "arguments")]
use crate::c::copies;
use crate::c::{checked, guard_turns, real};
use crate::cxx;
use crate::lifecycle::{at_exit, faults};
use crate::python::probes;

const UNBORN: u32 = 0;
const STARTING: u32 = 1;
const READY: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(UNBORN);

/// Whether hooks may call the real functions; false only while these are being looked up by this very thread.
#[inline(always)]
pub fn is_ready() -> bool {
    // Acquire: pairs with the Release below, after which the real functions are known.
    STATE.load(Acquire) == READY || start()
}

/// Whether hooks of a framework's own functions are to do anything.
pub fn knows_frameworks() -> bool {
    is_ready() && process::settings().frameworks
}

#[cold]
#[inline(never)]
fn start() -> bool {
    if STATE.load(Acquire) != UNBORN {
        return false;
    }
    STATE.store(STARTING, Release);
    real::resolve();
    #[cfg(feature = "arguments")]
    copies::resolve();
    STATE.store(READY, Release);
    lifecycle::start(real::OTHER_ALLOCATOR.load(Relaxed));
    tracker().begin_section_at_start();
    if process::settings().frameworks {
        probes::offer();
    }
    if checked::is_on() {
        begin_checks();
    }
    if real::has_own_malloc() {
        tracker().lose(Loss::OwnMalloc);
    }
    at_exit::watch();
    true
}

/// What has to be in place before the first block that is checked.
#[cold]
fn begin_checks() {
    guard_turns::watch();
    cxx::check_operators();
    if tracker().checks.guards.range().1 != 0 {
        faults::watch();
    }
}
