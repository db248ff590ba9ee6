//! A process that stands still, and its heap: live blocks, the memory that can lead to them, and the registers. It is read
//! from the outside. It is the process itself, which goes on when this is dropped, or an image of one that runs.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use heaplens_format::recording::{HeapMoment, HeapView, Interpreter, LeakCheck};
use heaplens_format::{Addr, Bytes, Nanos, Pid};

use crate::kernel;
use crate::ledger::{Outline, Seen, Subject, Tables};
use crate::memory;
use crate::memory::ServedMemory;
use crate::snapshot::forked::{self, Image};
use crate::snapshot::process_memory::CodePages;
use crate::snapshot::self_forked::{self, NoCopy};
use crate::tracing::{NotStopped, TIMEOUT_AT_END, Threads, Tracer};

pub use crate::ledger::{Block as LiveBlock, MappedArea, RootKind, RootRange};

/// A process, or an image of one, whose threads all stand still.
#[derive(Debug)]
pub struct Frozen {
    process: Pid,
    outline: Outline,
    pause: Nanos,
    code: CodePages,
    others_ran: bool,
    /// Lets the process go, or ends the image, when this is dropped.
    _keeper: Keeper,
}

/// Whoever keeps a process still, or an image of it alive.
#[derive(Debug)]
enum Keeper {
    Tracer { _kept: Tracer },
    SelfFork { _kept: ServedMemory },
}

/// Is shown a process that stands still, and says what it found. Sites are numbered as those of [`LiveBlock`].
pub type Examiner<'a> = &'a mut (dyn FnMut(&Frozen, HeapMoment) -> Examined + Send);

/// What was found in a process that stood still.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// Which blocks can be reached, where that was asked.
    pub leaks: Option<LeakCheck>,
    /// What the heap looks like, where that was asked. When and how long is left to the recorder.
    pub view: Option<HeapView>,
}

/// Why the heap of a process cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum NotFrozen {
    /// Its threads do not stand still.
    #[error("its threads cannot be stopped: {0}")]
    Threads(#[from] NotStopped),
    /// Its tables do not tell of all blocks.
    #[error("{0}")]
    Blocks(&'static str),
    /// Its memory or its arena cannot be read.
    #[error("its memory cannot be read: {0}")]
    Memory(#[from] io::Error),
    /// It has forbidden itself the system calls that an image needs.
    #[error("it has restricted its system calls (seccomp)")]
    Restricted,
    /// An image might need more memory than there is.
    #[error("{} MiB of memory are free, and an image of it may need {}", free.get() >> 20, needed.get() >> 20)]
    Short {
        /// What is free on the machine and in its control group.
        free: Bytes,
        /// What an image may need.
        needed: Bytes,
    },
    /// Its threads may not be stopped, and it makes no image by itself.
    #[error(
        "the kernel does not let us stop its threads ({why}), and it made no image of itself within {} s: it does not allocate",
        timeout.as_secs()
    )]
    Silent {
        /// Why threads do not stop.
        why: io::Error,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// The kernel makes no copy of it.
    #[error("the kernel makes no image of it: {0}")]
    Copy(io::Error),
    /// Its agent has no way back from a call that is made in its name.
    #[error("its agent cannot be found in its memory")]
    NoWayBack,
    /// A thread that a killed recorder has left alone is still on its way back.
    #[error("an earlier look at it was cut short, and a thread of it may not be back yet")]
    Taken,
    /// It has ended.
    #[error("it ended meanwhile")]
    Gone,
    /// It waited at its end, and went on when nobody came in time.
    #[error("the machine was too busy: Heaplens came too late, and the program had gone on")]
    GoneOn,
}

impl Frozen {
    /// Stops a process and looks at it.
    pub(crate) fn stop(process: Pid, subject: &mut Subject, arena: &File) -> Result<Self, NotFrozen> {
        let stop = move || -> Result<_, NotFrozen> {
            let threads = Threads::stop(process, TIMEOUT_AT_END)?;
            Ok((threads.all().to_vec(), threads))
        };
        let (threads, tracer) = Tracer::start(stop)?;
        let tables = Tables::open(arena).ok_or(NotFrozen::Blocks(UNREADABLE))?;
        let outline = subject.outline(&tables, &Seen::All(&threads))?;
        let code = CodePages::of(process);
        let keeper = Keeper::Tracer { _kept: tracer };
        Ok(Self { process, outline, pause: Nanos::default(), code, others_ran: false, _keeper: keeper })
    }

    /// Takes an image of a process that runs, and looks at that. `own_files` are file names of Heaplens's own in it,
    /// `recorder` is the process that it was started by. Its threads have so long to stop.
    pub(crate) fn image(
        process: Pid,
        recorder: Pid,
        own_files: Vec<String>,
        arena: &File,
        timeout: Duration,
    ) -> Result<Self, NotFrozen> {
        let (image, tracer) = match forked::take(process, recorder, arena, timeout) {
            Err(NotFrozen::Threads(NotStopped::Refused(why))) if kernel::is_refusal(&why) => {
                return Self::self_forked(process, own_files, arena, why);
            }
            taken => taken?,
        };
        let tables = Tables::of_copy(arena, &image.tables).ok_or(NotFrozen::Blocks(UNREADABLE))?;
        let outline = Subject::new(image.process, own_files).outline(&tables, &Seen::All(&image.threads))?;
        let (code, keeper) = (CodePages::of(image.process), Keeper::Tracer { _kept: tracer });
        let Image { process, pause, .. } = image;
        Ok(Self { process, outline, pause, code, others_ran: false, _keeper: keeper })
    }

    /// Has a process make an image of itself, because its threads may not be stopped.
    fn self_forked(
        process: Pid,
        own_files: Vec<String>,
        arena: &File,
        why: io::Error,
    ) -> Result<Self, NotFrozen> {
        let mut tables = forked::prepare(process, arena)?.tables;
        let copy = self_forked::request(arena).map_err(|error| match error {
            NoCopy::Failed(error) => NotFrozen::Copy(error),
            NoCopy::Silent => NotFrozen::Silent { why, timeout: self_forked::TIMEOUT },
        })?;
        tables.fill(arena)?;
        let tables = Tables::of_copy(arena, &tables).ok_or(NotFrozen::Blocks(UNREADABLE))?;
        let words = copy.words();
        let (thread, stack) = (words.thread.load(Relaxed), words.stack.load(Relaxed));
        let seen = Seen::One { process, thread, stack };
        let outline = Subject::new(copy.process(), own_files).outline(&tables, &seen)?;
        let (code, pause) = (CodePages::of(copy.process()), Nanos::new(words.pause_ns.load(Relaxed)));
        let (process, keeper) = (copy.process(), Keeper::SelfFork { _kept: copy });
        Ok(Self { process, outline, pause, code, others_ran: true, _keeper: keeper })
    }

    /// Whether threads ran on while the image was made: what they had in registers alone was not seen.
    pub fn others_ran(&self) -> bool {
        self.others_ran
    }

    /// How long the program stood still for it; nothing where it waited anyway.
    pub fn pause(&self) -> Nanos {
        self.pause
    }

    /// Its live blocks.
    pub fn blocks(&self) -> &[LiveBlock] {
        &self.outline.blocks
    }

    /// Small objects of Python, as far as they were recorded: a sample. They lie in [`Self::python_arenas`].
    pub fn objects(&self) -> &[LiveBlock] {
        &self.outline.objects
    }

    /// Memory that is in no block and that the program reaches by itself.
    pub fn roots(&self) -> &[RootRange] {
        &self.outline.roots
    }

    /// The data of the C library, where its allocator keeps pointers to the chunks behind blocks.
    pub fn allocator_data(&self) -> &[(u64, u64)] {
        &self.outline.allocator_data
    }

    /// Registers of its threads.
    pub fn registers(&self) -> &[u64] {
        &self.outline.registers
    }

    /// Its address space.
    pub fn areas(&self) -> &[MappedArea] {
        &self.outline.areas
    }

    /// The interpreter that it runs.
    pub fn python(&self) -> Option<Interpreter> {
        self.outline.python
    }

    /// Memory out of which the interpreter cuts its small objects. Neither blocks nor roots.
    pub fn python_arenas(&self) -> &[(u64, u64)] {
        &self.outline.python_arenas
    }

    /// Reads its memory, as far as it can be read from an address on. Nothing is brought in by it.
    pub fn read(&self, address: u64, into: &mut [u8]) -> usize {
        match CodePages::area(&self.outline.areas, address) {
            Some(area) => self.code.read(area, address, into),
            None => memory::read(self.process, Addr::new(address), into),
        }
    }
}

const UNREADABLE: &str = "its arena cannot be read";
