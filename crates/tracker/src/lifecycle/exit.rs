//! How a process ends, as far as it says so itself: it leaves, exits, or becomes another program.

use core::sync::atomic::Ordering::{Relaxed, Release};

use heaplens_format::arena::End;
use heaplens_format::arena::header::FLAG_LEAVING;
use heaplens_format::arena::ledger::LedgerMoment;

use crate::process::is_own_arena;
use crate::requests::ledger;
use crate::sys;
use crate::thread::names;
use crate::tracker::tracker;

/// Where a thread was when it began to end the process, and what it held then.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// Its stack pointer: what lies below was left by functions that have returned.
    pub stack: u64,
    /// An address on the stack on which it goes on, above what it uses from now on.
    pub from: u64,
    /// Its registers, as many as matter.
    pub registers: &'a [u64],
}

/// The program begins to leave: exit handlers and destructors come next. Its stack and registers of now are noted. Whether this is
/// the first time that it says so, in the process that the arena belongs to.
pub fn on_leaving(departure: Departure<'_>) -> bool {
    if !is_own_arena() {
        return false;
    }
    let header = tracker().arena.header();
    let is_first = header.flags.fetch_or(FLAG_LEAVING, Relaxed) & FLAG_LEAVING == 0;
    if is_first {
        let words = header.leaving_registers.iter().zip(departure.registers);
        words.for_each(|(word, &register)| word.store(register, Relaxed));
        header.leaving_stack.store(departure.stack, Relaxed);
        header.leaving_from.store(departure.from, Relaxed);
    }
    is_first
}

/// A signal is about to end the process: the recorder inspects it first, while this thread waits. May be called from a signal handler
/// that interrupted anything, and by several threads at once: all of them wait.
#[cold]
pub fn before_death(departure: Departure<'_>) {
    if is_own_arena() {
        on_leaving(departure);
        ledger::ask_and_wait(&tracker().arena, LedgerMoment::Exit);
    }
}

/// What is resident at the end is read before something is given back that the program would have kept.
pub fn before_test_at_exit() {
    ledger::ask(&tracker().arena, LedgerMoment::Exit);
    tracker().arena.header().rss_end.store(tracker().arena.resident_bytes_of_program(), Relaxed);
}

/// The process exits with this code.
pub fn on_exit(code: i32) {
    if !is_own_arena() {
        return;
    }
    tracker().write_last_profile();
    names::on_exit(&tracker().arena);
    ledger::ask(&tracker().arena, LedgerMoment::Exit);
    let header = tracker().arena.header();
    header.end_code.store(code, Relaxed);
    if header.rss_end.load(Relaxed) == 0 {
        header.rss_end.store(tracker().arena.resident_bytes_of_program(), Relaxed);
    }
    header.end_ns.store(sys::monotonic_ns(), Relaxed);
    header.end.store(End::Exited as u32, Release);
}

/// The process is about to become another program.
pub fn before_exec() {
    if is_own_arena() {
        let header = tracker().arena.header();
        header.rss_end.store(tracker().arena.resident_bytes_of_program(), Relaxed);
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
