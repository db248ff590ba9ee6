//! Which blocks a process could still reach when it ended, by the stacks that allocated them.

use alloc::string::String;
use alloc::vec::Vec;

use super::amount::Amount;

/// Whether a program can reach a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LeakKind {
    /// Nothing points to it.
    DefinitelyLost = 0,
    /// Only lost blocks do.
    IndirectlyLost = 1,
    /// It can be reached only through a pointer into the middle of a block.
    PossiblyLost = 2,
    /// It can be reached.
    StillReachable = 3,
}

impl LeakKind {
    /// All of them, the worst first.
    pub const ALL: [Self; 4] =
        [Self::DefinitelyLost, Self::IndirectlyLost, Self::PossiblyLost, Self::StillReachable];

    /// The kind with this number.
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::DefinitelyLost),
            1 => Some(Self::IndirectlyLost),
            2 => Some(Self::PossiblyLost),
            3 => Some(Self::StillReachable),
            _ => None,
        }
    }
}

/// The result of a leak check of all live blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeakCheck {
    /// Every live block, by kind and site, sorted.
    Done(Vec<LostSite>),
    /// None was possible, for this reason.
    NotDone(String),
}

/// Blocks of one kind that one stack allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSite {
    /// The site: its index.
    pub site: u32,
    /// What they are.
    pub kind: LeakKind,
    /// Themselves.
    pub direct: Amount,
    /// What is lost with them; it has rows of its own, too.
    pub indirect: Amount,
}
