//! Sections: parts of a program whose leaks are checked. While any is open, the sites of what is allocated lie one frame further in than
//! their stacks ([`super::frame::sections_frame`]): what a section allocated has sites of its own, so that every block is known to be
//! its own or not, and marks find what it left as they find the values of any site.
//!
//! ```text
//!   stack ─▶ node ─┬─▶ site                           of what is allocated while no section is open
//!                  └─▶ frame {eval} ─────▶ site
//!                  └─▶ frame {eval, io} ─▶ site       io was opened inside of eval
//! ```

use crate::atomic::{AtomicU32, AtomicU64};

/// The most sections with names of their own in a process: bits of a set.
pub const MOST_SECTIONS: usize = 16;
/// Longer names are cut.
pub const LONGEST_NAME: usize = 64;
/// Passes whose ends have a heap snapshot each; after them every power of two has one.
pub const PASSES_CHECKED: u32 = 4;

/// A section; its number is its bit.
#[derive(Debug, Default)]
#[repr(C)]
pub struct SectionRecord {
    /// Its name: offset in STRINGS in the high, length in the low half. Stored last; 0: there is no such section.
    pub name: AtomicU64,
    /// How often it was opened while it was not open.
    pub passes: AtomicU32,
    /// How often it was opened and not closed yet.
    pub open: AtomicU32,
    /// The node of the stack that opened it first; 0 where that is not known.
    pub begun: AtomicU32,
    /// The heap snapshot that its last end has asked for ([`super::Header::snapshots_wanted`]); 0 for none.
    pub snapshot: AtomicU32,
}

/// What a [`SectionRecord`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionView {
    /// See [`SectionRecord::name`].
    pub name: u64,
    /// See [`SectionRecord::passes`].
    pub passes: u32,
    /// See [`SectionRecord::open`].
    pub open: u32,
    /// See [`SectionRecord::begun`].
    pub begun: u32,
    /// See [`SectionRecord::snapshot`].
    pub snapshot: u32,
}

/// Whether the end of a pass has a heap snapshot, counted from 1.
pub const fn is_checked(pass: u32) -> bool {
    pass <= PASSES_CHECKED || pass.is_power_of_two()
}
