//! What can be wrong with the bytes of a recording, each with the offset and the facts. It decides nothing: the decoder
//! finds, the report prints.

use core::fmt;

use super::version::{Section, Version};

/// Why bytes are no recording that this version can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There are no bytes.
    Empty,
    /// They do not begin as a recording does.
    NotARecording,
    /// They were written in a newer format.
    NewerVersion {
        /// What wrote them.
        found: Version,
        /// The newest that is known here.
        known: Version,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::NotARecording => f.write_str("it is not a Heaplens recording"),
            Self::NewerVersion { found, known } => {
                write!(f, "it has format {found}, and this heaplens reads formats up to {known}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}

/// One thing that could not be read, or was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte of the file at which it was noticed.
    pub offset: u64,
    /// The process it belongs to (its number in the recording), where it belongs to one.
    pub process: Option<u32>,
    /// The section it belongs to, where that is known.
    pub section: Option<Section>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The checksum of the file header does not fit; it was read as the version known here.
    FileHeader,
    /// The file ends inside a chunk.
    Torn {
        /// What the chunk was to hold, where its header is there.
        section: Option<Section>,
        /// Whose it was.
        process: Option<u32>,
        /// Bytes that should follow.
        needed: u64,
        /// Bytes that do.
        left: u64,
    },
    /// The header of a chunk is damaged: nothing after it can be found.
    ChunkHeader,
    /// The payload of a chunk is damaged.
    Checksum {
        /// As stored.
        expected: u32,
        /// Of the bytes found.
        found: u32,
    },
    /// A kind of chunk that this version does not know.
    UnknownKind {
        /// Its number.
        kind: u16,
        /// The version of the file.
        version: Version,
    },
    /// A second chunk for the same section of the same process.
    Repeated,
    /// A sound checksum over a payload that makes no sense; what stands before is kept.
    Payload(PayloadFault),
    /// Rows that broke a rule of the model.
    Dropped {
        /// Which rule.
        violation: Violation,
        /// How many rows.
        count: u64,
    },
    /// The section is not there.
    Missing,
    /// Whole processes are not there.
    MissingProcesses {
        /// How many.
        count: u64,
    },
    /// The closing chunk is not there: the file was not finished or was cut.
    NotSealed,
    /// The closing chunk counts another number of chunks.
    WrongCount {
        /// As stored.
        expected: u64,
        /// As found.
        found: u64,
    },
    /// Bytes after the closing chunk.
    Trailing {
        /// How many.
        bytes: u64,
    },
}

impl Fault {
    pub(super) fn torn(needed: u64, left: usize) -> Self {
        Self::Torn { section: None, process: None, needed, left: left as u64 }
    }
}

/// Why a payload makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadFault {
    /// It ends inside a row.
    Short,
    /// A number does not fit where it stands.
    NumberTooLarge,
    /// A text is not UTF-8.
    NotText,
    /// A tag is not known.
    UnknownTag(u64),
    /// A number of a string names none.
    NoSuchString(u64),
    /// Bytes are left over.
    LeftOver(u64),
}

/// A rule of the model that rows can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A stack node whose caller does not come before it: kept as a cut stack.
    ParentNotBefore,
    /// A frame in a module that is not in the table: kept as a frame of no module.
    FrameWithoutModule,
    /// A Python frame of a code object that is not in the table: kept as a frame of no module.
    FrameWithoutCode,
    /// A pseudo frame with an unknown number: kept as a cut stack.
    UnknownPseudo,
    /// A site whose stack is not in the table: kept without its stack.
    SiteWithoutStack,
    /// A loss of an unknown kind.
    UnknownLoss,
    /// Symbols out of order, or twice.
    SymbolOrder,
    /// A symbol without a function or of no module.
    EmptySymbol,
    /// A loop whose code or whose outer loop is not there: kept without its location.
    LoopWithoutLocation,
    /// An iteration of a loop that is not there: kept as a mark without a name.
    IterationWithoutLoop,
    /// A history of no site, of marks that are not there, or out of order.
    HistoryOrder,
    /// A mapping of the ledger whose site is not there: kept without its maker.
    MappingWithoutSite,
    /// Lost blocks whose site is not there: left out.
    LeakWithoutSite,
    /// A step of a path that does not come after the one before it: kept as the beginning of a path.
    PathOrder,
    /// A path that ends at no step, or is of no site: left out.
    PathWithoutEnd,
    /// Something was counted that is not known here: left out.
    UnknownCounter,
    /// A counter whose stack is not in the table: kept without its stack.
    CounterWithoutStack,
    /// A site of a thread whose name is not in the table, or the thread of no site: left out.
    ThreadWithoutName,
    /// A memory error of which a stack is not in the table: kept without it.
    ErrorWithoutStack,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: ", self.offset)?;
        if let Some(section) = self.section {
            write!(f, "{}", section.words())?;
        }
        if let Some(process) = self.process {
            write!(f, " of process number {process}")?;
        }
        if self.section.is_some() || self.process.is_some() {
            f.write_str(": ")?;
        }
        self.fault.fmt(f)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileHeader => f.write_str("the checksum of the file header does not fit"),
            Self::Torn { needed, left, .. } => {
                write!(f, "the file ends inside a chunk: {needed} bytes should follow, {left} do")
            }
            Self::ChunkHeader => f.write_str("a chunk header is damaged, nothing behind it can be found"),
            Self::Checksum { expected, found } => {
                write!(f, "damaged, checksum {found:08x} where {expected:08x} is stored")
            }
            Self::UnknownKind { kind, version } => {
                write!(f, "kind {kind} of format {version} is not known here and was skipped")
            }
            Self::Repeated => f.write_str("there twice, the second was skipped"),
            Self::Payload(fault) => fault.fmt(f),
            Self::Dropped { violation, count } => write!(f, "{count} {violation}"),
            Self::Missing => f.write_str("missing"),
            Self::MissingProcesses { count } => write!(f, "{count} processes are missing"),
            Self::NotSealed => {
                f.write_str("the recording was not sealed or was cut: its closing chunk is missing")
            }
            Self::WrongCount { expected, found } => {
                write!(f, "the closing chunk counts {expected} chunks, {found} were found")
            }
            Self::Trailing { bytes } => write!(f, "{bytes} bytes follow the closing chunk"),
        }
    }
}

impl fmt::Display for PayloadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("ends inside a row"),
            Self::NumberTooLarge => f.write_str("a number is too large for its place"),
            Self::NotText => f.write_str("a text is not UTF-8"),
            Self::UnknownTag(tag) => write!(f, "tag {tag} is not known"),
            Self::NoSuchString(index) => write!(f, "string {index} does not exist"),
            Self::LeftOver(bytes) => write!(f, "{bytes} bytes are left over"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ParentNotBefore => "frames whose caller is missing (their stacks count as cut)",
            Self::FrameWithoutModule => "frames whose module is missing (their stacks count as cut)",
            Self::FrameWithoutCode => "frames whose Python code is missing (their stacks count as cut)",
            Self::UnknownPseudo => "stack ends of an unknown kind (their stacks count as cut)",
            Self::SiteWithoutStack => "sites whose stack is missing (their sizes are kept)",
            Self::UnknownLoss => "losses of an unknown kind",
            Self::SymbolOrder => "symbols out of order",
            Self::EmptySymbol => "symbols without a function or a module",
            Self::LoopWithoutLocation => "loops whose code is missing (their passes are kept)",
            Self::IterationWithoutLoop => "passes of loops that are missing (kept as marks without a name)",
            Self::HistoryOrder => "histories of sites that make no sense",
            Self::MappingWithoutSite => {
                "mappings of the ledger whose maker is missing (their sizes are kept)"
            }
            Self::LeakWithoutSite => "lost blocks whose site is missing",
            Self::PathOrder => "steps of paths that come before their holder",
            Self::PathWithoutEnd => "paths without an end or a site",
            Self::UnknownCounter => "counters of an unknown kind",
            Self::CounterWithoutStack => "counters whose stack is missing (their counts are kept)",
            Self::ThreadWithoutName => "threads of sites that make no sense (the sites are kept)",
            Self::ErrorWithoutStack => "memory errors of which a stack is missing (the errors are kept)",
        })
    }
}
