//! Libraries whose coming is watched for: when code of one first appears on a stack, checks begin that put in place what belongs to it,
//! again and again until all is there.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

/// Libraries that are to be watched for.
#[derive(Debug)]
pub struct WatchedLibraries {
    /// Which of them an object file belongs to, by its path: a bit for each.
    pub recognise: fn(&[u8]) -> u32,
    /// What is done about it, or left with the interpreter. Called inside a hook.
    pub check: fn(),
}

/// A check is made with so many turns between: while the library is being imported, and later for what comes with it.
pub const SOON: u32 = 1;
/// See [`SOON`].
pub const SELDOM: u32 = 64;
/// No check is made any more.
pub const NEVER: u32 = u32::MAX;

/// Which of them have come, and when the next check is due.
#[derive(Debug, Default)]
pub struct LibraryWatch {
    /// What is watched for; null where nothing is.
    watched: AtomicPtr<WatchedLibraries>,
    /// Libraries of it that have come, a bit for each.
    seen: AtomicU32,
    /// Turns up to the next check; 0 while none is wanted.
    turns: AtomicU32,
}

impl LibraryWatch {
    /// Nothing is watched for yet.
    pub const fn new() -> Self {
        Self {
            watched: AtomicPtr::new(core::ptr::null_mut()),
            seen: AtomicU32::new(0),
            turns: AtomicU32::new(0),
        }
    }

    /// In a forked child, whose arena is another: there nothing is put in place.
    pub fn reset(&self) {
        self.seen.store(0, Relaxed);
        self.turns.store(0, Relaxed);
    }

    /// From now on these libraries are watched for.
    pub fn begin(&self, watched: &'static WatchedLibraries) {
        self.watched.store(core::ptr::from_ref(watched).cast_mut(), Release);
    }

    /// An object file has come: where it is the first of a library that is watched for, checks begin.
    pub fn on_module(&self, path: &[u8]) {
        let Some(watched) = self.watched() else { return };
        let libraries = (watched.recognise)(path);
        if libraries & !self.seen.fetch_or(libraries, Relaxed) != 0 {
            self.turns.store(SOON, Relaxed);
        }
    }

    /// Libraries that have come, a bit for each.
    pub fn seen(&self) -> u32 {
        self.seen.load(Relaxed)
    }

    /// When the next check is to be made, at the end of one.
    pub fn check_again(&self, turns: u32) {
        self.turns.store(turns, Relaxed);
    }

    /// Whether a turn is to be taken.
    pub(crate) fn is_wanted(&self) -> bool {
        self.turns.load(Relaxed) != 0
    }

    /// The check whose turn it is. Until [`LibraryWatch::check_again`] says when the next one comes, there is none.
    pub(crate) fn due(&self) -> Option<fn()> {
        let turns = self.turns.load(Relaxed);
        let next = match turns {
            0 | NEVER => return None,
            1 => NEVER, // until it is said
            turns => turns - 1,
        };
        // Of two threads that notice at once, one goes on.
        let is_own = self.turns.compare_exchange(turns, next, Relaxed, Relaxed).is_ok();
        if turns != 1 || !is_own {
            return None;
        }
        self.watched().map(|watched| watched.check)
    }

    fn watched(&self) -> Option<&'static WatchedLibraries> {
        // SAFETY: `begin` stored a reference that lives as long as the process. Acquire: pairs with the Release there.
        unsafe { self.watched.load(Acquire).as_ref() }
    }
}
