//! Compares two sides: their lines, ledgers and totals.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use heaplens_format::Bytes;
use heaplens_format::memory::{Line, SpaceKind};
use heaplens_format::recording::Ledger;

use super::change::{Change, Diff, LedgerChange, LineChange, ResidentChange, Total};
use super::lines::{self, HeldLine, Sources};
use super::moment::Side;
use super::{matching, note};
use crate::profile::{Category, Layer, Measure};

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
        let held = |side: &Side, sources: Sources<'_>| {
            let mut lines = lines::of(&side.profile, self.is_one_run, |category| self.counts(category));
            if !self.is_one_run {
                lines.iter_mut().for_each(|line| line.find_text(&side.profile, sources));
            }
            lines
        };
        let (from, to) = (held(self.from, sources), held(self.to, sources));
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
            lines.into_iter().map(|line| (line, ResidentChange { from: from.line(line), to: to.line(line) }));
        let there = rows.filter(|(_, row)| row.from > Bytes::ZERO || row.to > Bytes::ZERO);
        let (mut changed, unchanged): (Vec<_>, Vec<_>) = there.partition(|(_, row)| row.bytes() != 0);
        changed.sort_by_key(|(_, row)| Reverse(row.bytes().unsigned_abs()));
        let program = |ledger: &Ledger| ledger.program();
        Some(LedgerChange {
            lines: changed,
            unchanged: unchanged.len(),
            rss: ResidentChange { from: program(from), to: program(to) },
            at: [from.at, to.at],
        })
    }
}

fn line_change(from: Option<&HeldLine>, to: Option<&HeldLine>) -> LineChange {
    let of = |line: Option<&HeldLine>, layer| line.map_or_else(Measure::default, |line| line.of(layer));
    let mut layers: Vec<Layer> = [from, to].into_iter().flatten().flat_map(HeldLine::layers).collect();
    layers.sort_unstable();
    layers.dedup();
    let parts = layers.into_iter().map(|layer| (layer, Change { from: of(from, layer), to: of(to, layer) }));
    let layers: Vec<(Layer, Change)> = parts.collect();
    let mut change = Change::default();
    layers.iter().for_each(|&(_, part)| change.add(part));
    LineChange {
        from: from.and_then(|line| line.frame.clone()),
        to: to.and_then(|line| line.frame.clone()),
        source: to.and_then(|line| line.text.clone()).or_else(|| from.and_then(|line| line.text.clone())),
        change,
        layers,
    }
}
