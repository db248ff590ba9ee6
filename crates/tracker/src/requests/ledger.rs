//! The end of a process, where the recorder is to count its resident bytes once more: from the outside, while this process
//! waits. It asks once, and goes on without an answer when none comes in time.
//!
//! ```text
//!   agent      wanted = moment │ opens the wake-up FIFO, closes it │ waits, 3 s at most until it begins, 10 s at most in all
//!   recorder                      wakes up ─▶ given = BEGUN │ takes the ledger │ given = wanted, wakes
//! ```

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::Header;
use heaplens_format::arena::ledger::{LARGE, LedgerMoment};

use crate::process::wake_up::wake_recorder;
use crate::process::{is_forked, is_own_arena, settings};
use crate::sys::{self, Errno};
use crate::tables::arena::Arena;

/// Until the recorder begins, and until it is done: tens of milliseconds for most, more for many gigabytes, and more by far on a
/// machine with more to do than it can. There is a recorder: nobody is waited for where none reads the wake-up FIFO.
const TIMEOUT_NS: u64 = 3_000_000_000;
const LONG_TIMEOUT_NS: u64 = 10_000_000_000;
/// Bytes in blocks of a forked child's own that are worth a leak check.
const MUCH_OF_FORKED: u64 = 64 << 10;

/// Asks for a ledger, unless one was asked for before.
#[cold]
#[inline(never)]
pub fn ask(arena: &Arena, moment: LedgerMoment) {
    if !is_own_arena() || settings().directory.is_empty() {
        return;
    }
    let header = arena.header();
    if !is_worth_it(arena) {
        return;
    }
    if header.ledger_wanted.compare_exchange(0, moment as u32, Release, Relaxed).is_ok()
        && !(wake_recorder() && wait(header, moment))
    {
        // What is taken from now on is not of this moment.
        header.ledger_wanted.store(LedgerMoment::GONE, Relaxed);
    }
}

/// The same by a thread that must not go on before the answer, whoever asked: it would end the process that is being inspected.
#[cold]
pub fn ask_and_wait(arena: &Arena, moment: LedgerMoment) {
    ask(arena, moment);
    let header = arena.header();
    let wanted = header.ledger_wanted.load(Relaxed);
    if ![0, LedgerMoment::GONE].contains(&wanted) {
        wait_for(header, wanted);
    }
}

/// Shells and the like come by the hundred, and their end must not wait for anyone. A forked child that holds blocks of its own has more to do than
/// to start a program, and what a section left may be known at the end alone. Where leaks are looked for, every process that holds anything matters.
fn is_worth_it(arena: &Arena) -> bool {
    let header = arena.header();
    let holds_blocks = || {
        let live = header.hot.live_bytes.load(Relaxed);
        settings().leak_check && live > 0 || is_forked() && live >= MUCH_OF_FORKED
    };
    Some(header.parent.load(Relaxed)) == recorder()
        || holds_blocks()
        || header.sections[0].name.load(Relaxed) != 0
        || arena.resident_bytes_of_program() >= LARGE
}

/// The recorder, after which the session's directory is called: `…/heaplens-PID-…`.
fn recorder() -> Option<u32> {
    let name = settings().directory.bytes().rsplit(|&byte| byte == b'/').next()?;
    let number = name.strip_prefix(b"heaplens-")?.split(|&byte| byte == b'-').next()?;
    sys::parse_decimal(number).and_then(|number| u32::try_from(number).ok())
}

/// Whether the answer came in time.
fn wait(header: &Header, moment: LedgerMoment) -> bool {
    wait_for(header, moment as u32)
}

fn wait_for(header: &Header, moment: u32) -> bool {
    let start = sys::monotonic_ns();
    loop {
        // Acquire: what the recorder did, it did before.
        let given = header.ledger_given.load(Acquire);
        let timeout = if given == LedgerMoment::BEGUN { LONG_TIMEOUT_NS } else { TIMEOUT_NS };
        let left = start.saturating_add(timeout).saturating_sub(sys::monotonic_ns());
        if given == moment || left == 0 {
            return left != 0;
        }
        match sys::wait_on(&header.ledger_given, given, left) {
            Ok(()) | Err(Errno(libc::EINTR | libc::EAGAIN)) => {}
            Err(_) => return false,
        }
    }
}
