//! The tables of this process, all of them in one static. What events do with them stands in `events`.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU64};

use heaplens_format::Loss;

use crate::checks::Checks;
use crate::modules::interpreter::Python;
use crate::objects::samples::Samples;
use crate::process::{Life, life};
use crate::profiles::Profiles;
use crate::requests::Requests;
use crate::tables::arena::Arena;
use crate::tables::blocks::Blocks;
use crate::tables::counters::Counters;
use crate::tables::marks::Marks;
use crate::tables::sections::Sections;
use crate::tables::trie::Trie;
use crate::thread::work::Work;
use crate::unwind::Unwinder;

/// The tables of this process.
#[derive(Debug)]
pub struct Tracker {
    /// The shared file.
    pub arena: Arena,
    /// Address → block.
    pub blocks: Blocks,
    /// Path → node.
    pub trie: Trie,
    /// Rules and modules, the interpreter among them.
    pub unwinder: Unwinder,
    /// Small objects of Python.
    pub samples: Samples,
    /// Moments that values are kept for.
    pub marks: Marks,
    /// What is asked for from outside.
    pub requests: Requests,
    /// What is counted besides.
    pub counters: Counters,
    /// Who made the operations that run.
    pub work: Work,
    /// Mean distance of samples; 0: exact.
    pub interval: AtomicU64,
    /// What is done to find memory errors.
    pub checks: Checks,
    /// Parts of the program whose leaks are checked.
    pub sections: Sections,
    /// Those that the program writes itself.
    pub profiles: Profiles,
    /// Whether C++'s operators are those of the C++ library.
    pub operators_known: AtomicBool,
    /// Whether the stacks of frees are kept and the arguments of functions are checked.
    pub memcheck: AtomicBool,
}

static TRACKER: Tracker = Tracker {
    arena: Arena::new(),
    blocks: Blocks::new(),
    trie: Trie::new(),
    unwinder: Unwinder::new(),
    samples: Samples::new(),
    marks: Marks::new(),
    requests: Requests::new(),
    counters: Counters::new(),
    work: Work::new(),
    interval: AtomicU64::new(0),
    checks: Checks::new(),
    sections: Sections::new(),
    profiles: Profiles::new(),
    operators_known: AtomicBool::new(false),
    memcheck: AtomicBool::new(false),
};

/// The tables of this process.
#[inline(always)]
pub fn tracker() -> &'static Tracker {
    &TRACKER
}

impl Tracker {
    /// Mean distance of samples; 0: exact.
    #[inline(always)]
    pub fn sample_interval(&self) -> u64 {
        self.interval.load(Relaxed)
    }

    /// Counts a loss, when there is an arena to count it in.
    pub fn lose(&self, loss: Loss) {
        if life() == Life::Recording {
            self.arena.lose(loss);
        }
    }

    /// The interpreter of this process.
    #[inline(always)]
    pub fn python(&self) -> &Python {
        &self.unwinder.modules.interpreter
    }
}
