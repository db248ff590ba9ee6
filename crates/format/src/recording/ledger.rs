//! The ledger of a process: where every resident byte of it was at one moment, counted by pages from the outside.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::arena::ledger::LedgerMoment;
use crate::memory::{Line, Space};
use crate::units::{Bytes, Nanos};

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
    /// Whether live blocks are distinguished from free memory by estimates, since the run was sampled.
    pub is_estimated: bool,
    /// Bytes of each line.
    pub lines: LineBytes,
    /// The largest mappings of the lines that are made of them.
    pub mappings: Vec<LedgerMapping>,
}

impl Ledger {
    /// Bytes on a line.
    pub fn line(&self, line: Line) -> Bytes {
        self.lines.get(line)
    }

    /// Resident bytes of the program itself.
    pub fn program(&self) -> Bytes {
        self.rss.saturating_sub(self.line(Line::HEAPLENS))
    }
}

/// The ledgers of a space beside the host's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceLedgers {
    /// Which space.
    pub space: Space,
    /// Who counted: the name of what was asked.
    pub source: String,
    /// In the order of time; what is called resident in them is what is in use there.
    pub ledgers: Vec<Ledger>,
}

/// Bytes by line: those that have some, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineBytes(Vec<(Line, Bytes)>);

impl LineBytes {
    /// Bytes on a line.
    pub fn get(&self, line: Line) -> Bytes {
        self.0.iter().find(|(known, _)| *known == line).map_or(Bytes::ZERO, |&(_, bytes)| bytes)
    }

    /// Puts so many on a line, whatever was there.
    pub fn set(&mut self, line: Line, bytes: Bytes) {
        self.0.retain(|(known, _)| *known != line);
        if bytes > Bytes::ZERO {
            let at = self.0.partition_point(|(known, _)| *known < line);
            self.0.insert(at, (line, bytes));
        }
    }

    /// Adds to a line.
    pub fn add(&mut self, line: Line, bytes: Bytes) {
        self.set(line, self.get(line) + bytes);
    }

    /// The lines that have bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Line, Bytes)> {
        self.0.iter().copied()
    }
}

impl FromIterator<(Line, Bytes)> for LineBytes {
    fn from_iter<I: IntoIterator<Item = (Line, Bytes)>>(rows: I) -> Self {
        let mut lines = Self::default();
        rows.into_iter().for_each(|(line, bytes)| lines.add(line, bytes));
        lines
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
