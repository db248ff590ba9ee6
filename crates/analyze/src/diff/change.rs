//! What a comparison gives: amounts on either side, of sums, lines and the ledger.

use heaplens_format::memory::Line;
use heaplens_format::{Bytes, Nanos};

use super::note::Note;
use crate::profile::{Category, Layer, Margin, Measure, StackFrame};

/// What changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// What could not be compared, or not as it should be.
    pub notes: Vec<Note>,
    /// The sums, those that neither side has left out.
    pub totals: Vec<(Total, Change)>,
    /// Lines that changed by more than their margin, the largest change first.
    pub lines: Vec<LineChange>,
    /// Lines that did not, or not for sure.
    pub unchanged: usize,
    /// Where resident bytes were; `None` where that cannot be compared.
    pub ledger: Option<LedgerChange>,
}

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Resident memory of the program.
    Rss,
    /// What the sites of a category hold.
    Of(Category),
}

/// An amount on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Before.
    pub from: Measure,
    /// After.
    pub to: Measure,
}

impl Change {
    /// Bytes more, or less.
    pub fn bytes(&self) -> i64 {
        difference(self.from.bytes.get(), self.to.bytes.get())
    }

    /// Blocks more, or less.
    pub fn blocks(&self) -> i64 {
        difference(self.from.blocks, self.to.blocks)
    }

    /// How far from the truth the difference may be; `None`: exact.
    pub fn margin(&self) -> Option<Margin> {
        match (self.from.margin, self.to.margin) {
            (Some(from), Some(to)) => Some(from.with(to)),
            (from, to) => from.or(to),
        }
    }

    /// Whether there is a difference that is not chance.
    pub(super) fn is_sure(&self) -> bool {
        let margin = self.margin().unwrap_or_default();
        self.bytes().unsigned_abs() > margin.bytes.get() || self.blocks().unsigned_abs() > margin.blocks
    }

    pub(super) fn add(&mut self, other: Self) {
        self.from.add(other.from);
        self.to.add(other.to);
    }
}

fn difference(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

/// A line that holds more, or less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChange {
    /// The line before; `None` where it held nothing, or has no stack.
    pub from: Option<StackFrame>,
    /// The line after.
    pub to: Option<StackFrame>,
    /// Its text, where that is to be had.
    pub source: Option<String>,
    /// All that it holds.
    pub change: Change,
    /// The same by layer; those of no bytes on either side are left out.
    pub layers: Vec<(Layer, Change)>,
}

impl LineChange {
    /// The line, as the later side knows it where it does.
    pub fn line(&self) -> Option<&StackFrame> {
        self.to.as_ref().or(self.from.as_ref())
    }
}

/// Where resident bytes were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerChange {
    /// Lines that changed, the largest change first.
    pub lines: Vec<(Line, ResidentChange)>,
    /// Lines that did not, those of no bytes left out.
    pub unchanged: usize,
    /// Resident memory of the program.
    pub rss: ResidentChange,
    /// When the two ledgers were read.
    pub at: [Nanos; 2],
}

/// Resident bytes on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentChange {
    /// Before.
    pub from: Bytes,
    /// After.
    pub to: Bytes,
}

impl ResidentChange {
    /// Bytes more, or less.
    pub fn bytes(&self) -> i64 {
        difference(self.from.get(), self.to.get())
    }
}
