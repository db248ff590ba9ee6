//! What the lines, sums and mappings of a ledger are called, and the notes below its table.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LedgerProfile, MappingProfile};
use heaplens_format::Bytes;
use heaplens_format::memory::{Line, LineRow, NamedAfter, Space, SpaceKind, Tables};
use heaplens_format::recording::LedgerMoment;

use super::number::{count, seconds, size};
use super::stack::location::location;
use super::wording::one_line;

/// What is less would read 0.0.
pub(crate) const SMALLEST: Bytes = Bytes::new(52_429);

/// What the ledger of a space is called: that of the host is the one that people mean.
pub(crate) fn title(profile: &Profile, ledger: &LedgerProfile) -> String {
    match profile.tables.space(ledger.space).filter(|row| row.kind != SpaceKind::HOST) {
        Some(row) => format!("Ledger of {}", row.name_of(ledger.space)),
        None => "Ledger".to_owned(),
    }
}

/// What the lines of a ledger add up to.
pub(crate) fn sum_label(profile: &Profile, ledger: &LedgerProfile) -> &'static str {
    profile.tables.space(ledger.space).map_or("", |row| row.sum)
}

/// What the sum grows by: resident memory is known by its readings.
pub(crate) fn pace_of_sum(profile: &Profile, ledger: &LedgerProfile) -> Option<f64> {
    let lines: Vec<Line> = profile.tables.counted(ledger.space.kind).map(|row| row.line).collect();
    match ledger.space {
        Space::HOST => profile.diagnosis.rss.and_then(|trend| trend.pace()),
        space => profile.diagnosis.of_ledger(space, &lines),
    }
}

/// Whether any line of the program grows in a space.
pub(crate) fn anything_grows(profile: &Profile, space: Space) -> bool {
    let pace = |line: &LineRow| profile.diagnosis.of_ledger(space, &[line.line]);
    profile.tables.counted(space.kind).any(|line| pace(line).is_some_and(|pace| pace > 0.0))
}

/// Empty where it is unknown.
pub(crate) fn pace_words(pace: Option<f64>) -> String {
    match pace {
        Some(bytes) if bytes >= 0.5 => size(Bytes::new(bytes.round() as u64)),
        Some(_) => "–".to_owned(),
        None => String::new(),
    }
}

/// `1,482` or, below ten, `0.3`.
pub(crate) fn mib(bytes: Bytes) -> String {
    let value = bytes.get() as f64 / f64::from(1 << 20);
    if value < 9.95 { format!("{value:.1}") } else { count(value.round() as u64) }
}

/// Whether the largest mappings of a line are named, and after whom.
pub(crate) fn named_after(line: &LineRow) -> Option<NamedAfter> {
    line.mappings.and_then(|mappings| mappings.named_after)
}

pub(crate) fn words(profile: &Profile, mapping: &MappingProfile) -> String {
    if named_after(profile.tables.line(mapping.line)) != Some(NamedAfter::Maker) {
        let name = if mapping.name.is_empty() { "anonymous, unnamed" } else { &mapping.name };
        return one_line(name);
    }
    let known = profile.mapping_stack(mapping).find(|frame| frame.function.is_some() || frame.file.is_some());
    let Some(frame) = known else { return "by unknown code".to_owned() };
    let function = one_line(frame.function.as_deref().unwrap_or("?"));
    match location(frame) {
        Some(place) => format!("{function}  {place}"),
        None => function,
    }
}

/// Notes below the table.
pub(crate) fn notes(profile: &Profile, ledger: &LedgerProfile) -> Vec<String> {
    let mut notes = Vec::new();
    if ledger.all.iter().any(|one| one.is_estimated) {
        notes.push("Sampled run: the split between native blocks and free memory is an estimate.".to_owned());
    }
    let is_there = |line: &&LineRow| ledger.line(line.line).most() >= SMALLEST;
    let there = profile.tables.lines_of(ledger.space.kind).filter(is_there);
    notes.extend(there.filter_map(|line| line.note).map(str::to_owned));
    if !ledger.has_end() {
        let at = seconds(ledger.end.at);
        notes.push(format!("No reading at exit: the last column was read at {at}."));
    }
    notes
}

/// The layers of a space in their order, and the lines that each is made of. Those of the host without `heaplens` add up to
/// `rss`.
pub(crate) fn layers(tables: Tables, space: SpaceKind) -> Vec<(&'static str, Vec<Line>)> {
    let lines = |layer| tables.of_layer(space, layer).map(|row| row.line).collect();
    tables.layers(space).map(|layer| (layer, lines(layer))).collect()
}

/// The moment of a ledger, in one word.
pub(crate) fn when(moment: LedgerMoment) -> &'static str {
    match moment {
        LedgerMoment::Running => "running",
        LedgerMoment::EndOfScript => "end-of-script",
        LedgerMoment::Exit => "exit",
    }
}
