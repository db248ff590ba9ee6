//! What is asked for from outside while the program runs: a mark, or a reclaim test. The words are checked with
//! every event that is timed, so that the others need not pay for it.
//!
//! Nothing of this waits in the program, and no thread of ours runs in it: what is asked for is done by the thread that
//! notices, or left with the interpreter for its main thread.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::Addr;

use crate::modules::SOON;
use crate::thread::guard::Guard;
use crate::tracker::Tracker;
use crate::unwind::walk::is_outside_handlers;
use crate::unwind::{Caller, stacks};

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
        if self.unwinder.modules.watch.is_wanted() {
            self.check_libraries(guard, caller);
        }
    }

    /// Where a signal handler is on the stack, the turn comes again.
    #[cold]
    fn check_libraries(&self, guard: &Guard, caller: Caller) {
        let watch = &self.unwinder.modules.watch;
        if let Some(check) = watch.due() {
            match self.is_outside_handlers(guard, caller) {
                true => check(),
                false => watch.check_again(SOON),
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
            self.requests.tests.store(wanted, Relaxed); // before it: at its end it reports which one was made
            if !test(guard) {
                self.requests.tests.store(begun, Relaxed);
            }
        }
        self.requests.busy.store(false, Release);
    }

    /// Whether no signal handler is on the stack; false also where that cannot be known.
    pub fn is_outside_handlers(&self, guard: &Guard, caller: Caller) -> bool {
        let own = guard.slot().and_then(|slot| slot.own_stack_end(caller.rsp));
        let end = own.unwrap_or_else(|| stacks::end_of(Addr::new(caller.rsp)));
        end.get() >= caller.rsp + 8 && is_outside_handlers(&self.unwinder, &self.arena, caller, end)
    }

    /// All tests that were begun have been made.
    pub fn on_tests_made(&self) {
        let begun = self.requests.tests.load(Relaxed);
        self.arena.header().tests_made.store(begun, Release);
    }
}
