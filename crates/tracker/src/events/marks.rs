//! Marks that the program makes: the user's, those of a framework, the end of a script, tests of what comes back.

use core::ffi::CStr;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Loss;
use heaplens_format::arena::ledger::LedgerMoment;
use heaplens_format::arena::marks::{ENOUGH_ITERATIONS, ENOUGH_TO_JUDGE, MarkTag, Moment};

use crate::lifecycle::is_recording;
use crate::process::{Life, life};
use crate::requests::ledger;
use crate::sys;
use crate::tables::arena::Arena;
use crate::tables::marks::NewMark;
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;

impl Tracker {
    /// The user marks this moment.
    #[cold]
    pub fn on_user_mark(&self, label: &CStr) {
        self.mark_outside_events(|arena| self.marks.make_users(arena, label.to_bytes()));
        self.sections_at_mark(label.to_bytes());
    }

    /// A framework is about to run what it was given to. A Python program has its loops.
    #[cold]
    pub fn on_framework_run(&self) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if is_recording(&guard) && self.arena.header().python.load(Relaxed) == 0 {
            self.marks.make_run(&self.arena);
        }
    }

    /// The script is through: what it still holds goes with Python's own clean-up.
    #[cold]
    pub fn on_end_of_script(&self) {
        let mark = NewMark { kind: MarkTag::EndOfScript, of_loop: 0, number: 0, label: &[] };
        self.mark_outside_events(|arena| self.marks.make(arena, mark));
        ledger::ask(&self.arena, LedgerMoment::EndOfScript);
    }

    /// A test of what comes back has come so far.
    #[cold]
    pub fn on_test(&self, guard: &Guard, kind: MarkTag) {
        let number = self.arena.resident_bytes_of_program();
        let mark = NewMark { kind, of_loop: 0, number, label: &[] };
        if is_recording(guard) && self.marks.make(&self.arena, mark).is_none() {
            self.arena.lose(Loss::MarkLost);
        }
    }

    /// Whether the program repeated something often enough to ask what it does with its memory.
    pub fn has_iterations(&self) -> bool {
        self.has_marks(ENOUGH_TO_JUDGE)
    }

    /// Whether a native program ran for long enough to ask the same, and may still make system calls.
    pub fn has_history(&self) -> bool {
        self.has_marks(ENOUGH_ITERATIONS)
            && self.arena.header().python.load(Relaxed) == 0
            && !sys::is_confined()
    }

    fn has_marks(&self, enough: u64) -> bool {
        let moment = Moment::from_raw(self.arena.header().hot.moment.load(Relaxed));
        life() == Life::Recording && u64::from(moment.mark()) >= enough
    }

    fn mark_outside_events(&self, make: impl FnOnce(&Arena) -> Option<u64>) {
        let Some(guard) = Guard::enter(Nesting::Never) else { return };
        if is_recording(&guard) && make(&self.arena).is_none() {
            self.arena.lose(Loss::MarkLost);
        }
    }
}
