//! The heap of a process at one moment, summed up: what its blocks are, who holds them, and which containers grew. Names of
//! variables, attributes and keys are in it; what they hold is not.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::amount::Amount;
use crate::units::{Bytes, Nanos};

/// Heap snapshots that are kept, in the order of time, and why there are none where some were wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The snapshots.
    pub views: Vec<HeapView>,
    /// Why the last one that was attempted failed.
    pub refusal: Option<Arc<str>>,
}

/// One heap snapshot, summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapView {
    /// When, since the start of the run.
    pub at: Nanos,
    /// What the program was doing.
    pub moment: HeapMoment,
    /// How long its threads stood still for it.
    pub pause: Nanos,
    /// Whether only one of them did, for a copy of the memory: what the others had in registers alone was not seen.
    pub others_ran: bool,
    /// How long the snapshot took.
    pub took: Nanos,
    /// The blocks that were inspected.
    pub live: Amount,
    /// What they are, the most bytes first.
    pub classes: Vec<ClassRow>,
    /// Everything that a path leads through, whoever leads to it before it.
    pub nodes: Vec<PathNode>,
    /// Who holds the blocks of a site, the most bytes first.
    pub holders: Vec<Holder>,
    /// Nodes that hold most alone, the most bytes first.
    pub retainers: Vec<u32>,
    /// Containers that hold more than at the snapshot before.
    pub growing: Vec<GrowingNode>,
    /// Sites with blocks of Python that no root leads to; `None` where that was not examined, as before format 2.9.
    pub unreachable: Option<Vec<UnreachableSite>>,
    /// Sites of Python objects that may have been reused. Empty before format 2.10.
    pub reused: Vec<ReusedSite>,
    /// Containers on paths that drop elements to stay within a limit. Empty before format 2.11.
    pub limited: Vec<LimitedNode>,
    /// Classes that those on paths inherit from. Empty before format 2.14.
    pub bases: Vec<BaseClass>,
}

/// A class and one that it inherits from, directly or not; `object` is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseClass {
    /// As [`PathNode::class`] has it.
    pub class: Arc<str>,
    /// Likewise.
    pub base: Arc<str>,
}

/// A container with a limit, as `functools.lru_cache(maxsize=…)` and `collections.deque(maxlen=…)` have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitedNode {
    /// The container.
    pub node: u32,
    /// Elements that it had.
    pub elements: u64,
    /// Elements that it has at most.
    pub limit: u64,
}

/// Python objects of one site that the interpreter may have reused from its free lists, so that another line holds them than the one
/// that first allocated them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReusedSite {
    /// The site that first allocated them: its index.
    pub site: u32,
    /// The site of the containers that hold most of them.
    pub container: u32,
    /// Objects whose container has a known site.
    pub inspected: u32,
    /// How many of them are held by containers of that site.
    pub alike: u32,
}

/// Blocks of one site, and those of them that no root leads to: Python objects, and what only these lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreachableSite {
    /// The site: its index.
    pub site: u32,
    /// All of its blocks in the snapshot.
    pub live: Amount,
    /// Garbage that waits for Python's collector: every reference to it comes from other garbage.
    pub garbage: Amount,
    /// Objects with more references than there are pointers to them, and what only those lead to: nobody holds them, and the
    /// collector leaves them alone.
    pub overcounted: Amount,
}

/// When the snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeapMoment {
    /// At the end, before anything is taken down.
    #[default]
    Exit,
    /// When somebody asked for it.
    Asked,
    /// While it ran.
    Running {
        /// Iterations of the main loop so far; 0 where there is none.
        iterations: u64,
    },
}

/// Blocks of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRow {
    /// Its name.
    pub class: Arc<str>,
    /// All of them.
    pub live: Amount,
}

/// A step of the reference path from a root to a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNode {
    /// Who leads to it: an earlier node, or none at a root.
    pub parent: Option<u32>,
    /// How it is led to.
    pub step: Step,
    /// The name of the step; empty where it has none.
    pub name: Arc<str>,
    /// What it is; empty where that is not known.
    pub class: Arc<str>,
    /// Where it lies; 0 for a root.
    pub address: u64,
    /// Its own bytes.
    pub size: Bytes,
    /// What would be free without it, itself included; nothing where that was not asked.
    pub retained: Amount,
}

/// How a path goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Step {
    /// A root: a module of Python's.
    Module = 0,
    /// A root: a function that runs, with its line.
    Frame = 1,
    /// A root: a variable of C or C++ outside of functions.
    Global = 2,
    /// A root: data of a file without a name of its own.
    Data = 3,
    /// A root: the stack or the registers of a thread.
    Stack = 4,
    /// A root: memory that the program mapped itself.
    Mapped = 5,
    /// A root: the interpreter's own state.
    Interpreter = 6,
    /// A root: nothing but the list of the garbage collector.
    Collector = 7,
    /// A variable of a module or of a function.
    Variable = 8,
    /// An attribute of an object.
    Attribute = 9,
    /// The value of a key.
    Key = 10,
    /// An element by its number.
    Item = 11,
    /// A variable that a closure holds.
    Cell = 12,
    /// A part that has a name in the interpreter, such as `__defaults__`.
    Part = 13,
    /// A pointer.
    Pointer = 14,
    /// Steps that are left out of a very long path.
    More = 15,
}

impl Step {
    /// All of them, by their numbers.
    pub const ALL: [Self; 16] = [
        Self::Module,
        Self::Frame,
        Self::Global,
        Self::Data,
        Self::Stack,
        Self::Mapped,
        Self::Interpreter,
        Self::Collector,
        Self::Variable,
        Self::Attribute,
        Self::Key,
        Self::Item,
        Self::Cell,
        Self::Part,
        Self::Pointer,
        Self::More,
    ];

    /// The step with this number.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// Who holds the blocks of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The site: its index.
    pub site: u32,
    /// The last node of the reference path to one of its blocks.
    pub node: u32,
    /// The blocks whose reference path was looked up.
    pub inspected: u32,
    /// How many of them are held the same way.
    pub alike: u32,
}

/// A container that grew between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowingNode {
    /// The container.
    pub node: u32,
    /// What it held alone at the snapshot before; now is in the node.
    pub before: Amount,
    /// Elements then and now; both 0 where they cannot be counted.
    pub elements: [u64; 2],
}
