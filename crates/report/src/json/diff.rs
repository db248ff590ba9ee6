//! A comparison as JSON, schema `heaplens-diff/1`, with the conventions of the report: sizes in bytes, what has no data is
//! `null`, never missing.

use std::io::{self, Write};

use heaplens_analyze::diff::{Change, Diff, LedgerChange, LineChange, Note, Total};
use heaplens_analyze::profile::{Category, Layer, StackFrame};
use heaplens_format::memory::Tables;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ledger::layer_of;
use crate::catalogue::diff::{RecordingSide, sentence};

const SCHEMA: &str = "heaplens-diff/1";

/// Writes the comparison as one line of JSON.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(
    diff: &Diff,
    from: RecordingSide<'_>,
    to: RecordingSide<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut buffered = io::BufWriter::new(out);
    serde_json::to_writer(&mut buffered, &fields(diff, from, to))?;
    writeln!(buffered)?;
    buffered.flush()
}

#[derive(serde::Serialize)]
struct Fields<'a> {
    schema: &'static str,
    heaplens: &'static str,
    from: SideFields<'a>,
    to: SideFields<'a>,
    notes: Vec<NoteFields>,
    totals: Totals<'a>,
    /// The largest change first; those that did not change are left out.
    lines: Vec<LineFields<'a>>,
    lines_unchanged: usize,
    ledger: Option<LedgerFields>,
}

fn fields<'a>(diff: &'a Diff, from: RecordingSide<'a>, to: RecordingSide<'a>) -> Fields<'a> {
    Fields {
        schema: SCHEMA,
        heaplens: env!("CARGO_PKG_VERSION"),
        from: side(from),
        to: side(to),
        notes: diff.notes.iter().map(note).collect(),
        totals: Totals(diff),
        lines: diff.lines.iter().map(line).collect(),
        lines_unchanged: diff.unchanged,
        ledger: diff.ledger.as_ref().map(|found| ledger(found, to.1.profile.tables)),
    }
}

#[derive(serde::Serialize)]
struct SideFields<'a> {
    recording: &'a str,
    command: &'a [String],
    pid: Option<u32>,
    /// `start`, `end`, `pass 120` or the label of a mark.
    moment: &'a str,
    /// Since the start of the run; `null` for start and end.
    at_seconds: Option<f64>,
}

fn side<'a>((recording, side): RecordingSide<'a>) -> SideFields<'a> {
    SideFields {
        recording,
        command: &side.profile.run.command,
        pid: side.profile.pid.map(|pid| pid.get()),
        moment: &side.name,
        at_seconds: side.at.map(|at| at.get() as f64 / 1e9),
    }
}

#[derive(serde::Serialize)]
struct NoteFields {
    what: &'static str,
    text: String,
}

fn note(note: &Note) -> NoteFields {
    let what = match note {
        Note::OtherPrograms { .. } => "other-programs",
        Note::OtherSampling { .. } => "other-sampling",
        Note::ObjectsOnOneSide { .. } => "objects-on-one-side",
        Note::NoLedger { .. } => "no-ledger",
        Note::NoLedgerBetween => "no-ledger-between",
        Note::OtherEnds => "other-ends",
        Note::OneEndOfScript { .. } => "one-end-of-script",
        Note::NearestIteration { .. } => "nearest-pass",
        Note::Damaged { .. } => "damaged",
    };
    NoteFields { what, text: sentence(note) }
}

/// What was there before and after, and the difference.
#[derive(serde::Serialize)]
struct ChangeFields {
    bytes: i64,
    blocks: i64,
    /// Half the width of the 95 % interval of `bytes`; `null`: exact.
    bytes_margin: Option<u64>,
    from_bytes: u64,
    to_bytes: u64,
    from_blocks: u64,
    to_blocks: u64,
}

fn change(change: &Change) -> ChangeFields {
    ChangeFields {
        bytes: change.bytes(),
        blocks: change.blocks(),
        bytes_margin: change.margin().map(|margin| margin.bytes.get()),
        from_bytes: change.from.bytes.get(),
        to_bytes: change.to.bytes.get(),
        from_blocks: change.from.blocks,
        to_blocks: change.to.blocks,
    }
}

/// Resident memory, then every category by its key; `null` for those that neither side has.
struct Totals<'a>(&'a Diff);

impl Serialize for Totals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let totals = &self.0.totals;
        let found = |wanted| totals.iter().find(|(total, _)| *total == wanted).map(|(_, change)| change);
        let rss = |change: &Change| resident(change.from.bytes.get(), change.to.bytes.get());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rss", &found(Total::Rss).map(rss))?;
        for &category in Category::ALL {
            map.serialize_entry(category.row().key, &found(Total::Of(category)).map(change))?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct ResidentChange {
    bytes: i64,
    from_bytes: u64,
    to_bytes: u64,
}

fn resident(from_bytes: u64, to_bytes: u64) -> ResidentChange {
    ResidentChange { bytes: to_bytes.wrapping_sub(from_bytes) as i64, from_bytes, to_bytes }
}

#[derive(serde::Serialize)]
struct LineFields<'a> {
    #[serde(flatten)]
    change: ChangeFields,
    /// As the later side knows it; the earlier one where it does not.
    location: Option<LineLocation<'a>>,
    /// Where it was before, where that is not the same.
    was: Option<LineLocation<'a>>,
    source: Option<&'a str>,
    layers: Vec<LayerFields>,
}

#[derive(PartialEq, serde::Serialize)]
struct LineLocation<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    module: Option<&'a str>,
}

fn location(frame: &StackFrame) -> LineLocation<'_> {
    LineLocation {
        file: frame.file.as_deref(),
        line: frame.line,
        function: frame.function.as_deref(),
        module: frame.module.as_deref(),
    }
}

fn line(line: &LineChange) -> LineFields<'_> {
    let [from, to] = [&line.from, &line.to].map(|frame| frame.as_ref().map(location));
    let was = from.filter(|from| to.as_ref().is_some_and(|to| to != from));
    LineFields {
        change: change(&line.change),
        location: line.line().map(location),
        was,
        source: line.source.as_deref(),
        layers: line.layers.iter().map(layer).collect(),
    }
}

#[derive(serde::Serialize)]
struct LayerFields {
    layer: &'static str,
    #[serde(flatten)]
    change: ChangeFields,
}

fn layer((layer, part): &(Layer, Change)) -> LayerFields {
    LayerFields { layer: layer.name(), change: change(part) }
}

#[derive(serde::Serialize)]
struct LedgerFields {
    rows: Vec<LedgerRow>,
    rows_unchanged: usize,
    rss: ResidentChange,
    /// When the two were read, since the start of their runs.
    from_at_seconds: f64,
    to_at_seconds: f64,
}

#[derive(serde::Serialize)]
struct LedgerRow {
    layer: &'static str,
    how: Option<&'static str>,
    #[serde(flatten)]
    bytes: ResidentChange,
}

fn ledger(ledger: &LedgerChange, tables: Tables) -> LedgerFields {
    let rows = ledger.lines.iter().map(|(line, row)| {
        let (layer, how) = layer_of(tables, *line);
        LedgerRow { layer, how, bytes: resident(row.from.get(), row.to.get()) }
    });
    let [from, to] = ledger.at.map(|at| at.get() as f64 / 1e9);
    LedgerFields {
        rows: rows.collect(),
        rows_unchanged: ledger.unchanged,
        rss: resident(ledger.rss.from.get(), ledger.rss.to.get()),
        from_at_seconds: from,
        to_at_seconds: to,
    }
}
