//! What the program does to itself that we must heed: limits of memory and of system calls, libraries that go.

use crate::process::clock::stop_clock;
use crate::process::{Life, life};
use crate::sys;
use crate::tracker::Tracker;

impl Tracker {
    /// The program is about to limit its address space.
    pub fn on_limit(&self) {
        if life() == Life::Recording {
            self.arena.shrink();
        }
    }

    /// The program is about to give up system calls that we would make, and in one mode the time stamp counter, too.
    pub fn on_confine(&self) {
        if life() == Life::Recording {
            self.arena.stock_up();
        }
        stop_clock();
        sys::confine();
    }

    /// The program is about to lock all memory that it has.
    pub fn on_lock_all(&self) {
        if life() == Life::Recording {
            self.arena.protect();
        }
    }

    /// A library is about to be unloaded.
    pub fn before_unload(&self) {
        self.python().before_unload();
    }

    /// A library may have been unloaded, after [`Tracker::before_unload`].
    pub fn after_unload(&self) {
        self.on_unload();
        self.python().after_unload();
    }

    /// A library may have been unloaded.
    pub fn on_unload(&self) {
        self.unwinder.on_unload();
    }
}
