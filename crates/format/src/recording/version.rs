//! Versions of the format, and the sections that each of them has.

use core::fmt;

/// What this code writes, and the newest that it fully reads.
pub(super) const VERSION: Version = Version { major: 2, minor: 16 };
/// A version of the format. Another major version cannot be read; a newer minor one only adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Changes when an old reader would misread.
    pub major: u16,
    /// Changes when something is added.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)*) => {
        /// What a chunk holds; the number is its kind in the file. Numbers are only ever added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Section { $($(#[$doc])* $name = $number),* }

        impl Section {
            /// What messages call it.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words),* }
            }

            pub(super) const fn from_kind(kind: u16) -> Option<Self> {
                match kind { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

sections! {
    /// The command and how it ended.
    Run = 1, "run";
    /// Which process, how it ended, what it cost.
    Identity = 2, "identity";
    /// Its loaded objects.
    Modules = 3, "modules";
    /// The stack trie.
    Stacks = 4, "stacks";
    /// Counters of the stacks that allocate.
    Sites = 5, "sites";
    /// Readings over time.
    Timeline = 6, "time-line";
    /// What was not seen.
    Losses = 7, "losses";
    /// Names and lines of frames.
    Symbols = 8, "symbols";
    /// The seal: the number of chunks before it.
    End = 9, "end";
    /// Python code objects. Since format 2.
    Codes = 10, "codes";
    /// Loops, moments and what sites had then. Since format 2.1.
    Marks = 11, "marks";
    /// Where resident bytes were. Since format 2.2.
    Ledger = 12, "ledger";
    /// Which blocks could be reached at the end. Since format 2.4.
    Leaks = 13, "leaks";
    /// Heap snapshots. Since format 2.5.
    Heap = 14, "heap";
    /// What libraries did that is no memory. Since format 2.5.
    Counters = 15, "counters";
    /// Which threads allocated. Since format 2.6.
    Threads = 16, "threads";
    /// What the program did wrong with memory. Since format 2.12.
    Errors = 17, "errors";
    /// Parts of the program whose leaks were checked, of a process that has any. Since format 2.13.
    Sections = 20, "sections";
}

impl Section {
    /// The sections that every process has, in the order in which they are written.
    pub(super) const OF_A_PROCESS: [Self; 15] = [
        Self::Identity,
        Self::Modules,
        Self::Codes,
        Self::Stacks,
        Self::Sites,
        Self::Timeline,
        Self::Losses,
        Self::Symbols,
        Self::Marks,
        Self::Ledger,
        Self::Leaks,
        Self::Heap,
        Self::Counters,
        Self::Threads,
        Self::Errors,
    ];

    /// Whether files of this version have it.
    pub(super) const fn is_in(self, version: Version) -> bool {
        match self {
            Self::Codes => version.major >= 2,
            Self::Marks => version.major > 2 || version.major == 2 && version.minor >= 1,
            Self::Ledger => version.major > 2 || version.major == 2 && version.minor >= 2,
            Self::Leaks => version.major > 2 || version.major == 2 && version.minor >= 4,
            Self::Heap | Self::Counters => version.major > 2 || version.major == 2 && version.minor >= 5,
            Self::Threads => version.major > 2 || version.major == 2 && version.minor >= 6,
            Self::Errors => version.major > 2 || version.major == 2 && version.minor >= 12,
            _ => true,
        }
    }
}
