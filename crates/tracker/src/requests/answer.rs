//! What is asked for from outside while the program runs: a mark, or a test of what comes back. The words are looked at with
//! every event that is timed, so that the others need not pay for it.
//!
//! Nothing of this waits in the program, and no thread of ours runs in it: what is asked for is done by the thread that
//! notices, or left with the interpreter for its main thread.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use crate::thread::thread_slot::Guard;
use crate::tracker::Tracker;
use crate::unwind::walk::is_outside_handlers;
use crate::unwind::{Caller, stacks};

/// Makes a test, or leaves it with the interpreter; whether it could.
pub type Test = fn(&Guard) -> bool;

/// Looks whether a library is there that is to be watched, or leaves that with the interpreter.
pub type Look = fn(&Guard);

/// Libraries that are to be watched when they come.
#[derive(Debug)]
pub struct Watch {
    /// Which of them an object file belongs to, by its path: a bit for each.
    pub libraries: fn(&[u8]) -> u32,
    /// What is done about it.
    pub look: Look,
}

/// A look is taken with so many turns between: while the library is being imported, and later for what comes with it.
pub const SOON: u32 = 1;
/// See [`SOON`].
pub const SELDOM: u32 = 64;
/// No look is taken any more.
pub const NEVER: u32 = u32::MAX;

/// What was answered.
#[derive(Debug, Default)]
pub struct Requests {
    /// Marks that the recorder wanted and that were made.
    marks: AtomicU32,
    /// Tests that were begun.
    tests: AtomicU32,
    busy: AtomicBool,
    /// A [`Test`]; null where none can be made.
    test: AtomicPtr<()>,
    /// What is watched; null where nothing is.
    watch: AtomicPtr<Watch>,
    /// Libraries of it that have come, a bit for each.
    seen: AtomicU32,
    /// Turns up to the next look; 0 while none is wanted.
    turns: AtomicU32,
}

impl Requests {
    /// Nothing was asked for yet.
    pub const fn new() -> Self {
        Self {
            marks: AtomicU32::new(0),
            tests: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            test: AtomicPtr::new(core::ptr::null_mut()),
            watch: AtomicPtr::new(core::ptr::null_mut()),
            seen: AtomicU32::new(0),
            turns: AtomicU32::new(0),
        }
    }

    /// In a forked child, whose arena is another: there nothing is tried, since locks may be held by threads that are not.
    pub fn reset(&self) {
        self.marks.store(0, Relaxed);
        self.tests.store(0, Relaxed);
        self.busy.store(false, Relaxed);
        self.test.store(core::ptr::null_mut(), Relaxed);
        self.seen.store(0, Relaxed);
        self.turns.store(0, Relaxed);
    }

    /// From now on tests can be made.
    pub fn offer(&self, test: Test) {
        self.test.store(test as *mut (), Release);
    }

    /// From now on libraries are watched.
    pub fn offer_watch(&self, watch: &'static Watch) {
        self.watch.store(core::ptr::from_ref(watch).cast_mut(), Release);
    }

    /// An object file has come: where it is the first of a library that is to be watched, looks begin.
    pub fn on_module(&self, path: &[u8]) {
        let Some(watch) = self.watch() else { return };
        let libraries = (watch.libraries)(path);
        if libraries & !self.seen.fetch_or(libraries, Relaxed) != 0 {
            self.turns.store(SOON, Relaxed);
        }
    }

    /// Libraries that have come, a bit for each.
    pub fn seen(&self) -> u32 {
        self.seen.load(Relaxed)
    }

    fn watch(&self) -> Option<&'static Watch> {
        // SAFETY: `offer_watch` stored a reference that lives as long as the process. Acquire: pairs with the Release there.
        unsafe { self.watch.load(Acquire).as_ref() }
    }

    /// When the next look is to be taken, at the end of one.
    pub fn look_again(&self, turns: u32) {
        self.turns.store(turns, Relaxed);
    }

    /// The look whose turn it is. Until it is told when the next one comes, there is none.
    fn look(&self) -> Option<Look> {
        let turns = self.turns.load(Relaxed);
        let next = match turns {
            0 | NEVER => return None,
            1 => NEVER, // until it is told
            turns => turns - 1,
        };
        // Of two threads that notice at once, one goes on.
        let is_own = self.turns.compare_exchange(turns, next, Relaxed, Relaxed).is_ok();
        if turns != 1 || !is_own {
            return None;
        }
        self.watch().map(|watch| watch.look)
    }

    fn test(&self) -> Option<Test> {
        let test = self.test.load(Acquire);
        // SAFETY: `offer` stored a function of this type.
        (!test.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), Test>(test) })
    }
}

impl Tracker {
    /// Does what was asked for since.
    #[cold]
    pub(crate) fn answer_requests(&self, guard: &Guard, caller: Caller) {
        let header = self.arena.header();
        let (wanted, made) = (header.marks_wanted.load(Relaxed), self.requests.marks.load(Relaxed));
        if wanted > made && self.requests.marks.compare_exchange(made, made + 1, Relaxed, Relaxed).is_ok() {
            let _ = self.marks.make_users(&self.arena, b"SIGUSR2");
        }
        if header.tests_wanted.load(Relaxed) > self.requests.tests.load(Relaxed) {
            self.answer_test(guard, caller);
        }
        if header.self_fork.wanted.load(Relaxed) > header.self_fork.begun.load(Relaxed) {
            self.make_self_fork(guard);
        }
        if self.requests.turns.load(Relaxed) != 0 {
            self.take_look(guard, caller);
        }
    }

    /// Where a signal handler is on the stack, the turn comes again.
    #[cold]
    fn take_look(&self, guard: &Guard, caller: Caller) {
        if let Some(look) = self.requests.look() {
            match self.is_outside_handlers(guard, caller) {
                true => look(guard),
                false => self.requests.look_again(SOON),
            }
        }
    }

    /// A signal handler may have interrupted whoever holds the locks that a test takes.
    fn answer_test(&self, guard: &Guard, caller: Caller) {
        let Some(test) = self.requests.test() else { return };
        if !self.is_outside_handlers(guard, caller) || self.requests.busy.swap(true, Acquire) {
            return;
        }
        let (wanted, begun) =
            (self.arena.header().tests_wanted.load(Relaxed), self.requests.tests.load(Relaxed));
        if wanted > begun {
            self.requests.tests.store(wanted, Relaxed); // before it: at its end it is told which one was made
            if !test(guard) {
                self.requests.tests.store(begun, Relaxed);
            }
        }
        self.requests.busy.store(false, Release);
    }

    /// Whether no signal handler is on the stack; false also where that cannot be known.
    pub fn is_outside_handlers(&self, guard: &Guard, caller: Caller) -> bool {
        let own = guard.seat().and_then(|seat| seat.own_stack_end(caller.rsp));
        let end = own.unwrap_or_else(|| stacks::end_of(caller.rsp));
        end >= caller.rsp + 8 && is_outside_handlers(&self.unwinder, &self.arena, caller, end)
    }

    /// All tests that were begun have been made.
    pub fn on_tests_made(&self) {
        let begun = self.requests.tests.load(Relaxed);
        self.arena.header().tests_made.store(begun, Release);
    }
}
