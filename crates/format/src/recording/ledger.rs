//! The ledger of a process: where every resident byte of it was at one moment, counted by pages from the outside.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::arena::ledger::LedgerMoment;
use crate::units::{Bytes, Nanos};

macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        /// A line of the ledger. Each resident byte is on one of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Line { $($(#[$doc])* $name = $number),* }

        impl Line {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The line with this number; one of a newer version is not explained here.
            pub const fn from_number(number: u64) -> Self {
                match number { $($number => Self::$name,)* _ => Self::Unexplained }
            }
        }
    };
}

lines! {
    /// Objects of Python: those in its arenas, and blocks of the heap that its allocator asked for.
    Python = 0;
    /// The data of NumPy's arrays.
    Numpy = 1;
    /// Live blocks of native code.
    Native = 2;
    /// What Python's arenas hold beside objects.
    PoolUnused = 3;
    /// What the allocator holds beside live blocks: freed memory, headers of blocks, rounding.
    AllocatorFree = 4;
    /// Stacks of threads.
    ThreadStacks = 5;
    /// Mapped files: code, data of libraries, files that the program mapped.
    MappedFiles = 6;
    /// Anonymous memory whose mapping was seen to be made.
    Mapped = 7;
    /// Memory that nobody was seen to map.
    Unhooked = 8;
    /// Memory that processes share.
    Shared = 9;
    /// Heaplens's own.
    Heaplens = 10;
    /// What nobody claims.
    Unexplained = 11;
    /// In a process that began by `fork`: memory that was there when it was first looked at, beside what it made itself.
    Inherited = 12;
    /// What TensorFlow's pools hold beside live blocks.
    TensorPools = 13;
}

/// The number of lines.
pub const LINES: usize = Line::ALL.len();

/// Where every resident byte was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Since the start of the run.
    pub at: Nanos,
    /// At which moment.
    pub moment: LedgerMoment,
    /// CPU time that it took to read.
    pub took: Nanos,
    /// Resident bytes, Heaplens's own included: the sum of the lines.
    pub rss: Bytes,
    /// Of these, pages that several processes have, each by its part.
    pub pss: Bytes,
    /// Of these, pages that no other process has.
    pub uss: Bytes,
    /// Whether live blocks are told from free memory by estimates, since the run was sampled.
    pub is_estimated: bool,
    /// Bytes of each line, by its number.
    pub lines: [Bytes; LINES],
    /// The largest mappings of the lines that are made of them.
    pub mappings: Vec<LedgerMapping>,
}

impl Ledger {
    /// Bytes on a line.
    pub fn line(&self, line: Line) -> Bytes {
        self.lines[line as usize]
    }

    /// Resident bytes of the program itself.
    pub fn program(&self) -> Bytes {
        self.rss.saturating_sub(self.line(Line::Heaplens))
    }
}

/// Mappings of one name, or of one maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerMapping {
    /// The line that it is a part of.
    pub line: Line,
    /// What the kernel calls it; empty where it has no name.
    pub name: String,
    /// The site that mapped it: its index.
    pub site: Option<u32>,
    /// Resident bytes.
    pub bytes: Bytes,
}
