//! A stack that allocated, and what it had: amounts, with their margins where they were sampled.

use heaplens_format::Bytes;
use heaplens_format::memory::{Category, Layer, SiteKind};
use heaplens_format::recording::{Amount, ThreadOf};

use super::margin::Margin;
use crate::profile::stacks::{StackId, Stacks, is_interpreter};

/// An amount, with its margin when it was sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Bytes.
    pub bytes: Bytes,
    /// Blocks.
    pub blocks: u64,
    /// How far from the truth, at 95 %; `None`: exact.
    pub margin: Option<Margin>,
}

impl Measure {
    /// Adds another, and its margin.
    pub(crate) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.margin = match (self.margin, other.margin) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        };
    }

    /// Without its margin.
    pub(super) fn amount(self) -> Amount {
        Amount { bytes: self.bytes, blocks: self.blocks }
    }
}

/// Sums over sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Live at the end.
    pub live: Measure,
    /// Live when the script was through; where that is not known, at the end.
    pub held: Measure,
    /// Live at the heap's peak.
    pub peak: Measure,
    /// Allocated in the whole run.
    pub allocated: Measure,
}

/// A stack that allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteProfile {
    /// What its blocks are.
    pub kind: SiteKind,
    /// Who its bytes belong to.
    pub layer: Layer,
    /// Live at the end.
    pub live: Measure,
    /// Live when the script was through; where that is not known, at the end.
    pub held: Measure,
    /// Live at the heap's peak.
    pub peak: Measure,
    /// Allocated in the whole run.
    pub allocated: Measure,
    /// The stack, for [`crate::Profile::stack`].
    pub stack: StackId,
    /// Who allocated it, where that was threads of one name: see [`crate::Profile::by_thread`].
    pub(crate) thread: ThreadOf,
}

impl SiteProfile {
    /// What its bytes are counted with.
    pub fn category(&self) -> Category {
        self.kind.category()
    }
}

/// Whether a mapping is the memory that Python cuts small objects out of, which are sites themselves.
pub(crate) fn is_python_pool(site: &SiteProfile, stacks: &Stacks) -> bool {
    site.kind == SiteKind::AnonymousMapping && stacks.frames(site.stack).next().is_some_and(is_interpreter)
}
