//! What the recorder needs for a ledger, beside the tables: when the agent waits for one, and which memory is the agent's own.
//!
//! Private memory outside the arena is a table in the process itself: the kernel merges it with whatever lies beside it, so
//! nothing else distinguishes it from the program's.

use crate::atomic::{AtomicU32, AtomicU64};

/// When a ledger was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LedgerMoment {
    /// While the program ran: between the first and the last byte that is read, it went on.
    #[default]
    Running = 0,
    /// The script was through, and the interpreter waited.
    EndOfScript = 1,
    /// The process was about to exit.
    Exit = 2,
}

impl LedgerMoment {
    /// Instead of a moment that the agent waited for in vain.
    pub const GONE: u32 = u32::MAX;
    /// Instead of a moment whose ledger is being taken.
    pub const BEGUN: u32 = u32::MAX - 1;

    /// The moment with this number.
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Running),
            1 => Some(Self::EndOfScript),
            2 => Some(Self::Exit),
            _ => None,
        }
    }
}

/// A process other than the command's own whose resident memory is less is not read page by page: shells are many.
pub const LARGE: u64 = 8 << 20;

/// The most ranges: one for each thread at a time that is recorded, and a few.
pub const OWN_RANGES: usize = 4352;

/// The table. Only ever appended to; a range that was given back is empty.
#[derive(Debug)]
#[repr(C)]
pub struct OwnRanges {
    /// Ranges so far; may go beyond the table.
    pub count: AtomicU32,
    /// The ranges.
    pub ranges: [OwnRange; OWN_RANGES],
}

/// Where the ranges begin in the table.
pub const RANGES_OFFSET: usize = core::mem::offset_of!(OwnRanges, ranges);
/// The size of one.
pub const RANGE_SIZE: usize = size_of::<OwnRange>();

/// A range of addresses.
#[derive(Debug)]
#[repr(C)]
pub struct OwnRange {
    /// Its first address.
    pub start: AtomicU64,
    /// Its length; 0 for none.
    pub length: AtomicU64,
}

impl OwnRange {
    const fn new() -> Self {
        Self { start: AtomicU64::new(0), length: AtomicU64::new(0) }
    }
}

impl OwnRanges {
    /// Without a range.
    pub const fn new() -> Self {
        Self { count: AtomicU32::new(0), ranges: [const { OwnRange::new() }; OWN_RANGES] }
    }
}

impl Default for OwnRanges {
    fn default() -> Self {
        Self::new()
    }
}
