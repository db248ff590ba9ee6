//! What a recording says, as plain data: the run, its processes, and for each process its modules, stacks, sites,
//! time-line, losses and symbols. No user data: sizes, names and lines, never contents.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use crate::arena::python::{Interpreter, Reading};
use crate::loss::Loss;
use crate::memory::SiteKind;
pub use crate::recording::amount::Amount;
use crate::recording::counters::Counters;
use crate::recording::errors::{CanaryCheck, MemoryError};
use crate::recording::heap::Heap;
use crate::recording::leaks::LeakCheck;
use crate::recording::ledger::{Ledger, SpaceLedgers};
use crate::recording::sections::CheckedSection;
use crate::units::{Addr, Bytes, CodeId, LoopId, ModuleId, Nanos, NodeId, Pid};

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What was run, and how it ended.
    pub run: Run,
    /// Every process that was recorded, in the order in which they began; shells are there too.
    pub processes: Vec<Process>,
}

/// What was run, and how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The version of Heaplens that recorded.
    pub heaplens: String,
    /// The command as the user typed it.
    pub command: Vec<String>,
    /// How the command ended; `None` when the recorder did not see it.
    pub exit: Option<Exit>,
    /// When it began: nanoseconds since the Unix epoch.
    pub started_unix: Nanos,
    /// How long it took.
    pub wall: Nanos,
    /// CPU time of the whole tree, Heaplens inside the program included; 0 when unknown.
    pub cpu: Nanos,
    /// Mean distance of samples; `None`: exact.
    pub sample_interval: Option<Bytes>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// How one program image of a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessEnd {
    /// Not seen.
    #[default]
    Unknown,
    /// It exited or was killed.
    Ended(Exit),
    /// `exec` replaced it.
    Replaced,
    /// It was still running when the recording was sealed.
    Running,
}

/// One program image of one process: after an `exec` the same pid has another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// The process.
    pub pid: Pid,
    /// Its parent.
    pub parent: Pid,
    /// Its words.
    pub command: Vec<String>,
    /// The path of its executable.
    pub executable: String,
    /// Whether it began by `fork` and went on without `exec`: blocks it inherited are not in its tables.
    pub forked: bool,
    /// How it ended.
    pub end: ProcessEnd,
    /// When it began and ended, since the start of the run.
    pub start: Nanos,
    /// See `start`.
    pub finish: Nanos,
    /// CPU time, 0 when unknown.
    pub cpu: Nanos,
    /// Of this, what Heaplens took inside the process.
    pub agent_cpu: Nanos,
    /// Bytes of its arena.
    pub arena_bytes: Bytes,
    /// Private memory of the agent in the process.
    pub agent_private_bytes: Bytes,
    /// Resident memory of the program, Heaplens's own subtracted; `None` when it was never read.
    pub rss: Option<Rss>,
    /// Live heap bytes at their peak.
    pub peak_live: Bytes,
    /// The Python interpreter in it; `None` when none was seen.
    pub python: Option<Interpreter>,
    /// Mean distance of samples of small Python objects, 1 when each was recorded; `None` when none was.
    pub object_interval: Option<Bytes>,
    /// Loaded objects; `ModuleId` n is entry n − 1.
    pub modules: Vec<Module>,
    /// Python code objects; `CodeId` n is entry n − 1.
    pub codes: Vec<Code>,
    /// The stack trie; `NodeId` n is entry n − 1, and a parent comes before its children.
    pub nodes: Vec<Node>,
    /// Stacks that allocated.
    pub sites: Vec<Site>,
    /// Readings over time.
    pub timeline: Vec<Sample>,
    /// What was not seen, without the kinds whose count is 0.
    pub losses: Vec<(Loss, u64)>,
    /// Names of frames, sorted by (module, offset); empty until they are resolved.
    pub symbols: Vec<FrameSymbol>,
    /// Loops of the user's Python code; `LoopId` n is entry n − 1.
    pub loops: Vec<Loop>,
    /// Moments that the live bytes of sites are known for, in the order of time.
    pub marks: Vec<Mark>,
    /// What sites had at marks, for sites that changed after one, sorted by site.
    pub histories: Vec<History>,
    /// Where its resident bytes were, in the order of time.
    pub ledgers: Vec<Ledger>,
    /// Where its bytes in other spaces were. Empty in recordings before format 2.8.
    pub spaces: Vec<SpaceLedgers>,
    /// Which blocks it could still reach at its end; `None` where that was not asked.
    pub leaks: Option<LeakCheck>,
    /// Its heap snapshots, summed up.
    pub heap: Heap,
    /// What libraries did in it that is no memory.
    pub counters: Counters,
    /// Which threads allocated at its sites.
    pub threads: Threads,
    /// What it did wrong with memory, in the order in which that was first seen. Empty in recordings before format 2.12.
    pub errors: Vec<MemoryError>,
    /// Blocks that had guard pages. 0 before format 2.14.
    pub guarded_blocks: u64,
    /// What the canaries behind its blocks said while it ran, in the order of time. Empty before format 2.16.
    pub canary_checks: Vec<CanaryCheck>,
    /// Its parts whose leaks were checked. Empty before format 2.13.
    pub sections: Vec<CheckedSection>,
}

/// A loop of the user's Python code, in one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loop {
    /// The code object that it is in.
    pub code: CodeId,
    /// Its line; 0 where it is not known.
    pub line: u32,
    /// The loop around it, in this function or in one that called it.
    pub around: Option<LoopId>,
    /// The thread, by a number that threads get when they first allocate.
    pub thread: u32,
    /// Iterations that it began.
    pub iterations: u64,
    /// Whether that is all of them for sure.
    pub is_exact: bool,
    /// How often it was seen to be entered; 0 where that was not counted, as before format 2.14.
    pub runs: u64,
    /// When it was first seen, since the start of the run.
    pub first: Nanos,
    /// When its last mark was made, or an iterator of it was freed after that.
    pub last: Nanos,
}

/// A moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Since the start of the run.
    pub at: Nanos,
    /// Live heap bytes.
    pub live: Bytes,
    /// What it is.
    pub kind: MarkKind,
}

/// What a mark is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// An iteration of a loop began.
    Iteration {
        /// The loop.
        of_loop: LoopId,
        /// Its iterations, this one included.
        iterations: u64,
    },
    /// The user said so.
    User {
        /// It was the user's so manieth.
        number: u64,
        /// What the user calls it.
        label: String,
    },
    /// The script was through, and Python's own clean-up began.
    EndOfScript,
    /// A stage of a reclaim test.
    Test {
        /// How far it was.
        stage: Stage,
        /// Resident memory of the program then.
        rss: Bytes,
    },
    /// The recorder took a reading: it does so at intervals in a program that makes no marks itself.
    Interval,
    /// A framework ran what a native program gave it to run.
    Run {
        /// It was the so manieth.
        number: u64,
    },
    /// A part of the program whose leaks are checked began or ended ([`crate::recording::CheckedSection`]).
    Section {
        /// The number of the section.
        number: u32,
        /// The pass, counted from 1.
        pass: u64,
        /// Whether it ended.
        is_end: bool,
    },
}

/// A test has two or three, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was done yet.
    Before,
    /// Python's collector was run.
    Collected,
    /// The allocator was asked to give its free memory back.
    Trimmed,
}

/// What a site had at marks. After the last change it has what it has at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The site: its index.
    pub site: u32,
    /// In the order of marks.
    pub changes: Vec<Change>,
}

/// What a site had up to a mark, from the change before on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The mark: its index + 1, so that all marks below this index are meant.
    pub until: u32,
    /// Live.
    pub live: Amount,
}

impl History {
    /// What the site had at a mark, by the mark's index; `None`: what it has at the end.
    pub fn at(&self, mark: usize) -> Option<Amount> {
        let next = self.changes.partition_point(|change| change.until as usize <= mark);
        self.changes.get(next).map(|change| change.live)
    }
}

/// Resident memory of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rss {
    /// When it began.
    pub start: Bytes,
    /// At most.
    pub peak: Bytes,
    /// Last reading.
    pub end: Bytes,
}

/// An object file that code ran from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its path when it was loaded.
    pub path: String,
    /// Its build id, empty where it has none.
    pub build_id: Vec<u8>,
    /// What the loader added to the file's addresses.
    pub bias: Addr,
}

/// A Python code object: a function, a module's or a class's body, a lambda. Names and files are shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Code {
    /// Its qualified name (plain before Python 3.11).
    pub name: Arc<str>,
    /// Its file as the interpreter calls it; `<string>` and the like where there is none.
    pub file: Arc<str>,
    /// The line of its `def`.
    pub first_line: u32,
}

/// One frame below its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The caller; node 0 is the root, the empty stack.
    pub parent: NodeId,
    /// The frame.
    pub frame: Frame,
}

/// What a node of the trie stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frame {
    /// Code: the *return address*, as an address of the object file (bias subtracted). Look up `offset - 1`.
    Code {
        /// The object file.
        module: ModuleId,
        /// Return address in the file's own addresses.
        offset: u64,
    },
    /// Code that no object file covers.
    Unknown {
        /// Its return address in the process.
        address: Addr,
    },
    /// A Python frame, instead of the interpreter's own frames that run it.
    Python {
        /// The code object.
        code: CodeId,
        /// The line that was running; 0 where it is not known.
        line: u32,
    },
    /// No code, but what is to be known about the stack below.
    Pseudo(crate::arena::Pseudo),
}

/// A stack that allocated, with its counters. When the run was sampled they are weighted estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The innermost frame.
    pub node: NodeId,
    /// What its blocks are.
    pub kind: SiteKind,
    /// Live at the end.
    pub live: Amount,
    /// Live at the moment of the process's heap peak.
    pub peak: Amount,
    /// Allocated in the whole run.
    pub allocated: Amount,
}

/// Threads by their names, and whose sites are. Empty in recordings before format 2.6.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Names, each once: as the kernel has them, `main` for the first thread.
    pub names: Vec<String>,
    /// For each site.
    pub of_sites: Vec<ThreadOf>,
}

impl Threads {
    /// Who allocated at a site.
    pub fn of(&self, site: usize) -> ThreadOf {
        self.of_sites.get(site).copied().unwrap_or_default()
    }
}

/// Who allocated at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadOf {
    /// That is not known.
    #[default]
    Unknown,
    /// More than one thread, and what each had is not known.
    Several,
    /// Threads with this name alone: its index.
    Named(u32),
}

/// One reading of the time-line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Since the start of the run.
    pub at: Nanos,
    /// Resident bytes of the program, Heaplens's own subtracted.
    pub rss: Bytes,
    /// Live heap bytes.
    pub live: Bytes,
    /// Threads that the process had; 0 where that was not read.
    pub threads: u32,
    /// CPU time that it had used; 0 where that was not read, as before format 2.11.
    pub cpu: Nanos,
}

/// The names of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSymbol {
    /// The object file.
    pub module: ModuleId,
    /// The return address, as in [`Frame::Code`].
    pub offset: u64,
    /// Functions at this address, innermost inlined one first; never empty.
    pub functions: Vec<Function>,
}

/// A function, and the line in it. Names and files are shared: thousands of frames lie in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Demangled name; `None` when only the line is known.
    pub name: Option<Arc<str>>,
    /// Source file; `None` without DWARF.
    pub file: Option<Arc<str>>,
    /// Line; `None` without DWARF.
    pub line: Option<u32>,
}
