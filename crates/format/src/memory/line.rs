//! The lines of the ledger: each resident byte of a space is on one of them. A row says what every output makes of a line,
//! and which bytes the recorder puts there. The order of the rows is that of outputs; numbers are those of files, and are
//! never used again for something else.

use super::{Allocator, Layer, SpaceKind};

/// A line of the ledger, by its number in files. A row of [`LINES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(u8);

impl Line {
    /// The line with this number, be it in the table or not.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The line that a file means by this number; one of a newer version is not explained here.
    pub fn from_number(number: u64) -> Self {
        let known = LINES.iter().find(|row| u64::from(row.line.0) == number);
        known.map_or(Self::UNEXPLAINED, |row| row.line)
    }

    /// Its row in the table of this version.
    pub fn row(self) -> &'static LineRow {
        LineRow::find(LINES, self)
    }

    /// The line of the host's bytes that are claimed so; those of nobody are not explained.
    pub fn of(claim: ClaimedBy) -> Self {
        let known = LINES.iter().find(|row| row.space == SpaceKind::HOST && row.claim == claim);
        known.map_or(Self::UNEXPLAINED, |row| row.line)
    }
}

/// Which bytes are on a line: the recorder says who claims them, the table where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedBy {
    /// Live blocks of a layer.
    LiveBlocks(Layer),
    /// The heap, beside live blocks.
    FreeHeap,
    /// The regions of a pool, beside what is in use of them.
    UnusedPool(Allocator),
    /// Stacks of threads.
    Stacks,
    /// Files: images of code, and files that the program mapped.
    Files,
    /// Somebody who was seen to map it.
    Maker,
    /// Nobody who was seen to map it.
    NoMaker,
    /// Several processes.
    Sharers,
    /// The parent of a process that began by `fork`.
    Parent,
    /// Heaplens itself.
    Heaplens,
    /// Nobody.
    Nobody,
}

/// A colour for light and one for dark pages, as 0xrrggbb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On a light page.
    pub light: u32,
    /// On a dark one.
    pub dark: u32,
}

/// What is said of the single mappings of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mappings {
    /// How they came to be, in one word of JSON.
    pub how: &'static str,
    /// Whether text names the largest, and after whom.
    pub named_after: Option<NamedAfter>,
    /// Whether it is a finding when one grows by the ledgers.
    pub judged: Judged,
}

/// After whom a mapping is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedAfter {
    /// The code that mapped it.
    Maker,
    /// Its name in the kernel's list.
    Kernel,
}

/// When a mapping that grows by the ledgers is a finding of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Never.
    Never,
    /// Where sites, which count it too, are not known over time.
    WithoutSites,
    /// Always: no site counts it.
    Always,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The line.
    pub line: Line,
    /// What markup calls it.
    pub key: &'static str,
    /// The layer that it is a part of in JSON and in tables. Layers come in the order of their first lines.
    pub layer: &'static str,
    /// What text calls it.
    pub label: &'static str,
    /// The space whose ledger it is a line of.
    pub space: SpaceKind,
    /// Whether it is memory of the program, a part of the sum; what is not stands below it.
    pub counts: bool,
    /// Which bytes of the host are on it. Of other spaces whoever reads them names the line.
    pub claim: ClaimedBy,
    /// Its colour in a drawing.
    pub colour: Colour,
    /// Whether JSON has it for a process that began by `fork` alone, unless its layer has other lines.
    pub is_of_forked: bool,
    /// What is said below a table that has it.
    pub note: Option<&'static str>,
    /// What is said of the mappings that it is made of; `None` where they are not kept.
    pub mappings: Option<Mappings>,
}

impl LineRow {
    /// A line of the host's ledger without anything special; a row says where it differs.
    pub const PLAIN: Self = Self {
        line: Line::UNEXPLAINED,
        key: "",
        layer: "",
        label: "",
        space: SpaceKind::HOST,
        counts: true,
        claim: ClaimedBy::Nobody,
        colour: Colour { light: 0xbdbcb8, dark: 0x5f6168 },
        is_of_forked: false,
        note: None,
        mappings: None,
    };

    /// The row of a line; of one that is not in the table, that of what is not explained.
    pub(super) fn find(lines: &'static [Self], line: Line) -> &'static Self {
        let row = |line| lines.iter().find(move |row| row.line == line);
        row(line).or_else(|| row(Line::UNEXPLAINED)).unwrap_or(&Self::PLAIN)
    }
}

macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident = $number:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        impl Line {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
        }

        /// The lines, in the order of outputs.
        pub static LINES: &[LineRow] =
            &[$(LineRow { line: Line::$name, $($field: $value,)* ..LineRow::PLAIN }),*];
    };
}

lines! {
    /// Objects of Python: those in its arenas, and blocks of the heap that its allocator asked for.
    PYTHON = 0 {
        key: "Python",
        layer: Layer::Python.name(),
        label: "Python objects",
        claim: ClaimedBy::LiveBlocks(Layer::Python),
        colour: Colour { light: 0x4a7ab0, dark: 0x6f9fd6 },
    }
    /// The data of NumPy's arrays.
    NUMPY = 1 {
        key: "Numpy",
        layer: Layer::Numpy.name(),
        label: "NumPy arrays",
        claim: ClaimedBy::LiveBlocks(Layer::Numpy),
        colour: Colour { light: 0x46a3b8, dark: 0x5fc0d4 },
    }
    /// Live blocks of native code.
    NATIVE = 2 {
        key: "Native",
        layer: Layer::Native.name(),
        label: "native blocks",
        claim: ClaimedBy::LiveBlocks(Layer::Native),
        colour: Colour { light: 0x5c9468, dark: 0x7dbb8b },
    }
    /// What Python's arenas hold beside objects.
    POOL_UNUSED = 3 {
        key: "PoolUnused",
        layer: "pool-unused",
        label: "unused in Python's pools",
        claim: ClaimedBy::UnusedPool(Allocator::Pymalloc),
        colour: Colour { light: 0xa8c2de, dark: 0x45658a },
    }
    /// What TensorFlow's pools hold beside live blocks.
    TENSOR_POOLS = 13 {
        key: "TensorPools",
        layer: "pool-unused",
        label: "unused by TensorFlow",
        claim: ClaimedBy::UnusedPool(Allocator::FrameworkPool),
        colour: Colour { light: 0xe2b8a0, dark: 0x7d5a48 },
    }
    /// What the allocator holds beside live blocks: freed memory, headers of blocks, rounding.
    ALLOCATOR_FREE = 4 {
        key: "AllocatorFree",
        layer: "allocator-free",
        label: "free in the allocator",
        claim: ClaimedBy::FreeHeap,
        colour: Colour { light: 0xcdc5a0, dark: 0x837b55 },
    }
    /// Stacks of threads.
    THREAD_STACKS = 5 {
        key: "ThreadStacks",
        layer: "thread-stacks",
        label: "thread stacks",
        claim: ClaimedBy::Stacks,
        colour: Colour { light: 0xa65a8c, dark: 0xcf83b5 },
    }
    /// Mapped files: code, data of libraries, files that the program mapped.
    MAPPED_FILES = 6 {
        key: "MappedFiles",
        layer: Layer::MappedFiles.name(),
        label: "mapped files and code",
        claim: ClaimedBy::Files,
        colour: Colour { light: 0xbdbcb8, dark: 0x5f6168 },
        mappings: Some(Mappings { how: "file", named_after: None, judged: Judged::Never }),
    }
    /// Anonymous memory whose mapping was seen to be made.
    MAPPED = 7 {
        key: "Mapped",
        layer: Layer::MappedAnonymous.name(),
        label: "mapped by the program",
        claim: ClaimedBy::Maker,
        colour: Colour { light: 0xcfae3a, dark: 0xd9bf5c },
        mappings: Some(Mappings {
            how: "hooked",
            named_after: Some(NamedAfter::Maker),
            judged: Judged::WithoutSites,
        }),
    }
    /// Memory that nobody was seen to map.
    UNHOOKED = 8 {
        key: "Unhooked",
        layer: Layer::MappedAnonymous.name(),
        label: "mapped, no hook saw it",
        claim: ClaimedBy::NoMaker,
        colour: Colour { light: 0xdd8560, dark: 0xe8977a },
        mappings: Some(Mappings {
            how: "unhooked",
            named_after: Some(NamedAfter::Kernel),
            judged: Judged::Always,
        }),
    }
    /// Memory that processes share.
    SHARED = 9 {
        key: "Shared",
        layer: Layer::MappedAnonymous.name(),
        label: "shared memory",
        claim: ClaimedBy::Sharers,
        colour: Colour { light: 0x98a886, dark: 0x8f9f7d },
        mappings: Some(Mappings { how: "shared", named_after: None, judged: Judged::Always }),
    }
    /// In a process that began by `fork`: memory that was there at its first reading, beside what it made itself.
    INHERITED = 12 {
        key: "Inherited",
        layer: "inherited",
        label: "inherited from parent",
        claim: ClaimedBy::Parent,
        colour: Colour { light: 0xd8c5b2, dark: 0x8c7a68 },
        is_of_forked: true,
        note: Some("The process began by fork: inherited is what was there when it was first looked at."),
    }
    /// Heaplens's own.
    HEAPLENS = 10 {
        key: "Heaplens",
        layer: "heaplens",
        label: "Heaplens, not counted",
        counts: false,
        claim: ClaimedBy::Heaplens,
    }
    /// What nobody claims.
    UNEXPLAINED = 11 {
        key: "Unexplained",
        layer: "unexplained",
        label: "unexplained",
        colour: Colour { light: 0xb5352a, dark: 0xff7d6e },
    }
}
