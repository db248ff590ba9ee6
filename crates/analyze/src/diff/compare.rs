//! Compares two sides: their lines, ledgers and totals.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use heaplens_format::memory::{Line, SpaceKind};
use heaplens_format::recording::Ledger;
use heaplens_format::{Bytes, Nanos};

use super::lines::{self, Place};
use super::moment::Side;
use super::note::Note;
use super::{matching, note};
use crate::Profile;
use crate::profile::{Category, Layer, Margin, Measure, StackFrame};

/// How a caller finds the text of a line, where its file still says what it said when the program ran.
pub type Sources<'a> = &'a mut dyn FnMut(&Profile, &StackFrame) -> Option<String>;

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
    fn is_sure(&self) -> bool {
        let margin = self.margin().unwrap_or_default();
        self.bytes().unsigned_abs() > margin.bytes.get() || self.blocks().unsigned_abs() > margin.blocks
    }

    fn add(&mut self, other: Self) {
        lines::add(&mut self.from, other.from);
        lines::add(&mut self.to, other.to);
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
    pub lines: Vec<(Line, Resident)>,
    /// Lines that did not, those of no bytes left out.
    pub unchanged: usize,
    /// Resident memory of the program.
    pub rss: Resident,
    /// When the two ledgers were read.
    pub at: [Nanos; 2],
}

/// Resident bytes on either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Before.
    pub from: Bytes,
    /// After.
    pub to: Bytes,
}

impl Resident {
    /// Bytes more, or less.
    pub fn bytes(&self) -> i64 {
        difference(self.from.get(), self.to.get())
    }
}

/// Compares two recordings, each at its moment.
pub fn of_recordings(from: &Side, to: &Side, sources: Sources<'_>) -> Diff {
    let compare = Compare { from, to, is_one_run: false };
    compare.diff(sources)
}

/// Compares two moments of one recording.
pub fn of_moments(from: &Side, to: &Side, sources: Sources<'_>) -> Diff {
    let compare = Compare { from, to, is_one_run: true };
    compare.diff(sources)
}

#[derive(Clone, Copy)]
struct Compare<'a> {
    from: &'a Side,
    to: &'a Side,
    is_one_run: bool,
}

impl Compare<'_> {
    fn diff(self, sources: Sources<'_>) -> Diff {
        let (lines, unchanged) = self.lines(sources);
        Diff {
            notes: note::notes(self.from, self.to, self.is_one_run),
            totals: self.totals(),
            lines,
            unchanged,
            ledger: self.ledger(),
        }
    }

    fn lines(self, sources: Sources<'_>) -> (Vec<LineChange>, usize) {
        let places = |side: &Side, sources: Sources<'_>| {
            let mut places = lines::of(&side.profile, self.is_one_run, |category| self.counts(category));
            if !self.is_one_run {
                places.iter_mut().for_each(|place| place.find_text(&side.profile, sources));
            }
            places
        };
        let (from, to) = (places(self.from, sources), places(self.to, sources));
        let pairs = matching::pairs(&from, &to);
        let all = pairs.len();
        let changes = pairs
            .into_iter()
            .map(|(before, after)| line_change(before.map(|at| &from[at]), after.map(|at| &to[at])));
        let mut changed: Vec<LineChange> =
            changes.filter(|line| line.layers.iter().any(|(_, change)| change.is_sure())).collect();
        changed.sort_by_key(|line| {
            Reverse((line.change.bytes().unsigned_abs(), line.change.blocks().unsigned_abs()))
        });
        if self.is_one_run {
            changed.iter_mut().for_each(|line| self.show_text(line, sources));
        }
        let unchanged = all - changed.len();
        (changed, unchanged)
    }

    /// The text of a line, which was not needed to tell it from others.
    fn show_text(self, line: &mut LineChange, sources: Sources<'_>) {
        if let (None, Some(frame)) = (&line.source, line.line()) {
            line.source = sources(&self.to.profile, frame);
        }
    }

    /// Small objects that were recorded on one side only say nothing.
    fn counts(self, category: Category) -> bool {
        category != Category::Objects || !note::has_objects_on_one_side(self.from, self.to)
    }

    fn totals(self) -> Vec<(Total, Change)> {
        let resident = |side: &Side| Measure { bytes: side.rss().unwrap_or_default(), ..Measure::default() };
        let held = |side: &Side, category| side.profile.total(category).held;
        let sum = |&category: &Category| {
            (Total::Of(category), Change { from: held(self.from, category), to: held(self.to, category) })
        };
        let sums = Category::ALL.iter().filter(|&&category| self.counts(category)).map(sum);
        let is_read = self.from.rss().is_some() && self.to.rss().is_some();
        let rss = is_read.then(|| Change { from: resident(self.from), to: resident(self.to) });
        let there = |(_, change): &(Total, Change)| {
            let has = |measure: Measure| measure.bytes > Bytes::ZERO || measure.blocks > 0;
            has(change.from) || has(change.to)
        };
        rss.map(|change| (Total::Rss, change)).into_iter().chain(sums).filter(there).collect()
    }

    fn ledger(self) -> Option<LedgerChange> {
        let (from, to) = (self.from.ledger()?, self.to.ledger()?);
        if self.is_one_run && from.at == to.at {
            return None;
        }
        let counted = self.to.profile.tables.counted(SpaceKind::HOST).map(|row| row.line);
        // By number: of lines that changed as much as each other the order is that.
        let lines: BTreeSet<Line> = counted.collect();
        let rows =
            lines.into_iter().map(|line| (line, Resident { from: from.line(line), to: to.line(line) }));
        let there = rows.filter(|(_, row)| row.from > Bytes::ZERO || row.to > Bytes::ZERO);
        let (mut changed, unchanged): (Vec<_>, Vec<_>) = there.partition(|(_, row)| row.bytes() != 0);
        changed.sort_by_key(|(_, row)| Reverse(row.bytes().unsigned_abs()));
        let program = |ledger: &Ledger| ledger.program();
        Some(LedgerChange {
            lines: changed,
            unchanged: unchanged.len(),
            rss: Resident { from: program(from), to: program(to) },
            at: [from.at, to.at],
        })
    }
}

fn line_change(from: Option<&Place>, to: Option<&Place>) -> LineChange {
    let of = |place: Option<&Place>, layer| place.map_or_else(Measure::default, |place| place.of(layer));
    let mut layers: Vec<Layer> = [from, to].into_iter().flatten().flat_map(Place::layers).collect();
    layers.sort_unstable();
    layers.dedup();
    let parts = layers.into_iter().map(|layer| (layer, Change { from: of(from, layer), to: of(to, layer) }));
    let layers: Vec<(Layer, Change)> = parts.collect();
    let mut change = Change::default();
    layers.iter().for_each(|&(_, part)| change.add(part));
    LineChange {
        from: from.and_then(|place| place.frame.clone()),
        to: to.and_then(|place| place.frame.clone()),
        source: to.and_then(|place| place.text.clone()).or_else(|| from.and_then(|place| place.text.clone())),
        change,
        layers,
    }
}
