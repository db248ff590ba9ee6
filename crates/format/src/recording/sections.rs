//! Parts of a program whose leaks were checked: what was allocated while they were open, and what of it was left.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::heap::HeapView;
use super::leaks::LeakCheck;
use crate::units::{Nanos, NodeId};

/// A part of the program whose leaks were checked, over all its passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedSection {
    /// Its number in the process: that of its marks.
    pub number: u32,
    /// What the program calls it.
    pub name: Arc<str>,
    /// The stack that opened it first; the empty one where that is not known.
    pub begun: NodeId,
    /// How often it was run.
    pub passes: u64,
    /// Whether its last pass had not ended when the process did.
    pub is_open: bool,
    /// The sites of what was allocated while it was open, in order.
    pub sites: Vec<u32>,
    /// The last leak check of what it left.
    pub check: Option<SectionCheck>,
}

/// A leak check of what a section left. Only its own sites are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionCheck {
    /// After how many passes.
    pub pass: u64,
    /// When, since the start of the run.
    pub at: Nanos,
    /// Whether the process was exiting: what the section's last pass held and gave back afterwards is not seen.
    pub is_at_exit: bool,
    /// Which of its blocks could be reached, or why that is not known.
    pub leaks: Option<LeakCheck>,
    /// Who held them.
    pub view: Option<HeapView>,
}
