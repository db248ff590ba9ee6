//! What was answered of what the recorder asked for.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use crate::thread::guard::Guard;

/// Makes a test, or leaves it with the interpreter; whether it could.
pub type Test = fn(&Guard) -> bool;

/// What was answered.
#[derive(Debug, Default)]
pub struct Requests {
    /// Marks that the recorder wanted and that were made.
    pub(super) marks: AtomicU32,
    /// Tests that were begun.
    pub(super) tests: AtomicU32,
    /// Whether a thread is answering one.
    pub(super) busy: AtomicBool,
    /// A [`Test`]; null where none can be made.
    test: AtomicPtr<()>,
}

impl Requests {
    /// Nothing was asked for yet.
    pub const fn new() -> Self {
        Self {
            marks: AtomicU32::new(0),
            tests: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            test: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// In a forked child, whose arena is another: there nothing is tried, since locks may be held by threads that are not.
    pub fn reset(&self) {
        self.marks.store(0, Relaxed);
        self.tests.store(0, Relaxed);
        self.busy.store(false, Relaxed);
        self.test.store(core::ptr::null_mut(), Relaxed);
    }

    /// From now on tests can be made.
    pub fn offer(&self, test: Test) {
        self.test.store(test as *mut (), Release);
    }

    /// The test, where one can be made.
    pub(super) fn test(&self) -> Option<Test> {
        let test = self.test.load(Acquire);
        // SAFETY: `offer` stored a function of this type.
        (!test.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), Test>(test) })
    }
}
