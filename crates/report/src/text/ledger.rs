//! The ledger as a table in MiB, one line for each place that memory can be; lines that would read 0.0 are left out.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LedgerProfile, MappingProfile, Moments};
use heaplens_format::Bytes;
use heaplens_format::memory::{Line, LineRow, NamedAfter, Space, SpaceKind};
use heaplens_format::recording::Ledger;

use super::{Page, one_line};
use crate::catalogue::evidence;
use crate::catalogue::number::{count, seconds, size};
use crate::catalogue::stack::location::location;

/// Mappings that are named.
const MAPPINGS: usize = 3;
/// Smaller ones are not.
const WORTH_NAMING: u64 = 1 << 20;

/// What is less would read 0.0.
pub(crate) const SMALLEST: Bytes = Bytes::new(52_429);

/// Writes the ledgers of all spaces.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    profile.ledgers().try_for_each(|ledger| write_one(profile, ledger, page))
}

fn write_one(profile: &Profile, ledger: &LedgerProfile, page: &mut Page<'_>) -> io::Result<()> {
    let (tables, space) = (profile.tables, ledger.space);
    let grows = anything_grows(profile, space);
    let per = if grows { format!("per {}", evidence::per(profile)) } else { String::new() };
    let pace = |pace: Option<f64>| if grows { pace_words(pace) } else { String::new() };
    let title = format!("{} (MiB)", title(profile, ledger));
    page.title(&format!("{title:<26}{:>10}{:>10}{:>10}{per:>16}", "start", "peak", "end"))?;
    for line in tables.counted(space.kind) {
        let moments = ledger.line(line.line);
        if moments.most() >= SMALLEST {
            row(page, line.label, moments, &pace(profile.growth.of_ledger(space, &[line.line])))?;
        }
        mappings(profile, ledger, line, page)?;
    }
    let sum = ledger.moments(Ledger::program);
    row(page, sum_label(profile, ledger), sum, &pace(pace_of_sum(profile, ledger)))?;
    for line in tables.lines_of(space.kind).filter(|line| !line.counts) {
        row(page, line.label, ledger.line(line.line), "")?;
    }
    notes(profile, ledger).iter().try_for_each(|note| page.line(&format!("    {note}")))
}

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
        Space::HOST => profile.growth.rss.and_then(|trend| trend.pace()),
        space => profile.growth.of_ledger(space, &lines),
    }
}

/// Processes that live together, where they share memory.
pub(super) fn write_tree(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(tree) = profile.tree else { return Ok(()) };
    let [rss, pss, uss] = [tree.rss, tree.pss, tree.uss].map(size);
    let (processes, at) = (count(tree.processes as u64), seconds(tree.at));
    page.line(&format!(
        "  process tree    {processes} processes at {at}: PSS {pss} · USS {uss} · RSS {rss} (Heaplens included)"
    ))
}

/// Whether any line of the program grows in a space.
pub(crate) fn anything_grows(profile: &Profile, space: Space) -> bool {
    let pace = |line: &LineRow| profile.growth.of_ledger(space, &[line.line]);
    profile.tables.counted(space.kind).any(|line| pace(line).is_some_and(|pace| pace > 0.0))
}

/// Nothing where it cannot be told.
pub(crate) fn pace_words(pace: Option<f64>) -> String {
    match pace {
        Some(bytes) if bytes >= 0.5 => size(Bytes::new(bytes.round() as u64)),
        Some(_) => "–".to_owned(),
        None => String::new(),
    }
}

fn row(page: &mut Page<'_>, name: &str, moments: Moments, pace: &str) -> io::Result<()> {
    let [start, peak, end] = [moments.start, moments.peak, moments.end].map(mib);
    page.line(&format!("    {name:<24}{start:>10}{peak:>10}{end:>10}{pace:>16}"))
}

/// `1,482` or, below ten, `0.3`.
pub(crate) fn mib(bytes: Bytes) -> String {
    let value = bytes.get() as f64 / f64::from(1 << 20);
    if value < 9.95 { format!("{value:.1}") } else { count(value.round() as u64) }
}

/// The largest mappings of a line by who made them, or by name.
fn mappings(
    profile: &Profile,
    ledger: &LedgerProfile,
    line: &LineRow,
    page: &mut Page<'_>,
) -> io::Result<()> {
    if named_after(line).is_none() {
        return Ok(());
    }
    let large = |mapping: &&MappingProfile| {
        mapping.line == line.line && mapping.bytes.end.max(mapping.bytes.peak).get() >= WORTH_NAMING
    };
    for mapping in ledger.mappings.iter().filter(large).take(MAPPINGS) {
        let bytes = size(mapping.bytes.end);
        page.line(&format!("      {bytes:>10}  {}", words(profile, mapping)))?;
    }
    Ok(())
}

/// Whether the largest mappings of a line are named, and after whom.
pub(crate) fn named_after(line: &LineRow) -> Option<NamedAfter> {
    line.mappings.and_then(|mappings| mappings.named_after)
}

pub(crate) fn words(profile: &Profile, mapping: &MappingProfile) -> String {
    if named_after(profile.tables.line(mapping.line)) != Some(NamedAfter::Maker) {
        let name = if mapping.name.is_empty() { "anonymous, without a name" } else { &mapping.name };
        return one_line(name);
    }
    let known = profile.mapping_stack(mapping).find(|frame| frame.function.is_some() || frame.file.is_some());
    let Some(frame) = known else { return "by code without a name".to_owned() };
    let function = one_line(frame.function.as_deref().unwrap_or("?"));
    match location(frame) {
        Some(place) => format!("{function}  {place}"),
        None => function,
    }
}

/// What is to be said below the table.
pub(crate) fn notes(profile: &Profile, ledger: &LedgerProfile) -> Vec<String> {
    let mut notes = Vec::new();
    if ledger.all.iter().any(|one| one.is_estimated) {
        notes.push("The run was sampled: native blocks are told from free memory by estimates.".to_owned());
    }
    let is_there = |line: &&LineRow| ledger.line(line.line).most() >= SMALLEST;
    let there = profile.tables.lines_of(ledger.space.kind).filter(is_there);
    notes.extend(there.filter_map(|line| line.note).map(str::to_owned));
    if !ledger.has_end() {
        let at = seconds(ledger.end.at);
        notes.push(format!("The process did not wait to be read: the last column was read at {at}."));
    }
    notes
}
