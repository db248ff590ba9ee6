//! The ledger: one row for each layer, and what the rows are made of.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{
    LedgerProfile, MappingProfile, Moments, ProcessTree, SpaceProfile, StackFrame,
};
use heaplens_format::memory::{Line, Tables};
use heaplens_format::recording::Ledger;

use super::{FrameFields, frame};
use crate::catalogue::ledger::{layers, when};

/// The layer that a line is on, and how it came there where the layer has several.
pub(super) fn layer_of(tables: Tables, line: Line) -> (&'static str, Option<&'static str>) {
    let row = tables.line(line);
    let is_alone = tables.of_layer(row.space, row.layer).count() == 1;
    (row.layer, row.mappings.filter(|_| !is_alone).map(|mappings| mappings.how))
}

#[derive(serde::Serialize)]
pub(super) struct LayerRow {
    layer: &'static str,
    #[serde(flatten)]
    bytes: MomentFields,
    /// `None` where there are too few ledgers for a trend.
    bytes_per_iteration: Option<f64>,
}

#[derive(serde::Serialize)]
struct MomentFields {
    start: u64,
    end: u64,
    peak: u64,
}

fn fields(moments: Moments) -> MomentFields {
    MomentFields { start: moments.start.get(), end: moments.end.get(), peak: moments.peak.get() }
}

pub(super) fn rows(profile: &Profile, ledger: &LedgerProfile) -> Vec<LayerRow> {
    let tables = profile.tables;
    let row = |(layer, lines): (&'static str, Vec<Line>)| LayerRow {
        layer,
        bytes: fields(ledger.moments(|one| lines.iter().map(|&line| one.line(line)).sum())),
        bytes_per_iteration: profile.diagnosis.of_ledger(ledger.space, &lines),
    };
    let is_of_forked = |lines: &[Line]| lines.iter().all(|&line| tables.line(line).is_of_forked);
    let layers = layers(tables, ledger.space.kind).into_iter();
    layers.filter(|(_, lines)| ledger.is_forked || !is_of_forked(lines)).map(row).collect()
}

/// A space beside the host's.
#[derive(serde::Serialize)]
pub(super) struct SpaceFields<'a> {
    space: String,
    ledger: Vec<LayerRow>,
    used: u64,
    source: &'a str,
}

pub(super) fn space<'a>(profile: &'a Profile, space: &'a SpaceProfile) -> SpaceFields<'a> {
    let SpaceProfile { source, ledger } = space;
    let row = profile.tables.space(ledger.space);
    SpaceFields {
        space: row.map_or_else(String::new, |row| row.name_of(ledger.space).to_string()),
        ledger: rows(profile, ledger),
        used: ledger.end.rss.get(),
        source,
    }
}

/// What the rows do not say: when the ledgers were read, and the mappings by name and stack.
#[derive(serde::Serialize)]
pub(super) struct Details<'a> {
    start: Moment,
    peak: Moment,
    end: Moment,
    /// Whether the split between live blocks and free memory is an estimate, since the run was sampled.
    estimated: bool,
    ledgers: usize,
    /// Processes that lived together, where they share memory.
    tree: Option<TreeFields>,
    mappings: Vec<MappingFields<'a>>,
}

#[derive(serde::Serialize)]
struct Moment {
    at_seconds: f64,
    /// `running`: the program ran meanwhile; else it was stopped.
    when: &'static str,
    /// CPU time that it took to read.
    took_seconds: f64,
    /// Resident bytes, Heaplens's own included.
    rss: u64,
    pss: u64,
    uss: u64,
}

fn moment(ledger: &Ledger) -> Moment {
    Moment {
        at_seconds: ledger.at.get() as f64 / 1e9,
        when: when(ledger.moment),
        took_seconds: ledger.took.get() as f64 / 1e9,
        rss: ledger.rss.get(),
        pss: ledger.pss.get(),
        uss: ledger.uss.get(),
    }
}

#[derive(serde::Serialize)]
struct TreeFields {
    at_seconds: f64,
    processes: usize,
    rss: u64,
    pss: u64,
    uss: u64,
}

fn tree(tree: ProcessTree) -> TreeFields {
    TreeFields {
        at_seconds: tree.at.get() as f64 / 1e9,
        processes: tree.processes,
        rss: tree.rss.get(),
        pss: tree.pss.get(),
        uss: tree.uss.get(),
    }
}

#[derive(serde::Serialize)]
struct MappingFields<'a> {
    layer: &'static str,
    /// `hooked`: a hook saw who mapped it; `unhooked`: none did; `shared`; `file`.
    how: &'static str,
    name: Option<&'a str>,
    #[serde(flatten)]
    bytes: MomentFields,
    stack: Vec<FrameFields<'a>>,
}

pub(super) fn details<'a>(profile: &'a Profile, ledger: &'a LedgerProfile) -> Details<'a> {
    Details {
        start: moment(&ledger.start),
        peak: moment(&ledger.peak),
        end: moment(&ledger.end),
        estimated: ledger.all.iter().any(|one| one.is_estimated),
        ledgers: ledger.all.len(),
        tree: profile.tree.map(tree),
        mappings: ledger.mappings.iter().map(|one| mapping(profile, one)).collect(),
    }
}

fn mapping<'a>(profile: &'a Profile, mapping: &'a MappingProfile) -> MappingFields<'a> {
    // One of a line that lists none counts as one that nobody was seen to make.
    let listed = |line| Some(profile.tables.line(line)).filter(|row| row.mappings.is_some());
    let row = listed(mapping.line).unwrap_or_else(|| profile.tables.line(Line::UNHOOKED));
    MappingFields {
        layer: row.layer,
        how: row.mappings.map_or("", |mappings| mappings.how),
        name: Some(mapping.name.as_str()).filter(|name| !name.is_empty()),
        bytes: fields(mapping.bytes),
        stack: profile.mapping_stack(mapping).map(|one: &StackFrame| frame(one)).collect(),
    }
}
