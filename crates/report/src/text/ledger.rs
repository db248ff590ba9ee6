//! The ledger as a table in MiB, one line for each place that memory can be; lines that would read 0.0 are left out.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LedgerProfile, MappingProfile, Moments};
use heaplens_format::Bytes;
use heaplens_format::memory::{LineRow, NamedAfter, SpaceKind};
use heaplens_format::recording::Ledger;

use super::number::{count, seconds, size};
use super::place::location;
use super::{Page, one_line};
use crate::rules;

/// Mappings that are named.
const MAPPINGS: usize = 3;
/// Smaller ones are not.
const WORTH_NAMING: u64 = 1 << 20;

/// What is less would read 0.0.
pub(crate) const SMALLEST: Bytes = Bytes::new(52_429);

pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(ledger) = &profile.ledger else { return Ok(()) };
    let per = if anything_grows(profile) { format!("per {}", rules::per(profile)) } else { String::new() };
    page.title(&format!("{:<26}{:>10}{:>10}{:>10}{per:>16}", "Ledger (MiB)", "start", "peak", "end"))?;
    let pace = |pace: Option<f64>| if per.is_empty() { String::new() } else { pace_words(pace) };
    for line in profile.tables.counted(SpaceKind::HOST) {
        let moments = ledger.line(line.line);
        if moments.most() >= SMALLEST {
            row(page, line.label, moments, &pace(profile.growth.of_ledger(&[line.line])))?;
        }
        mappings(profile, ledger, line, page)?;
    }
    let rss = profile.growth.rss.and_then(|trend| trend.pace());
    row(page, "RSS", ledger.moments(Ledger::program), &pace(rss))?;
    for line in profile.tables.lines_of(SpaceKind::HOST).filter(|line| !line.counts) {
        row(page, line.label, ledger.line(line.line), "")?;
    }
    notes(profile, ledger).iter().try_for_each(|note| page.line(&format!("    {note}")))
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

/// Whether any line of the program grows.
pub(crate) fn anything_grows(profile: &Profile) -> bool {
    let grows = |line: &LineRow| profile.growth.of_ledger(&[line.line]).is_some_and(|pace| pace > 0.0);
    profile.tables.counted(SpaceKind::HOST).any(grows)
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
    let there = profile.tables.lines_of(SpaceKind::HOST).filter(is_there);
    notes.extend(there.filter_map(|line| line.note).map(str::to_owned));
    if !ledger.has_end() {
        let at = seconds(ledger.end.at);
        notes.push(format!("The process did not wait to be read: the last column was read at {at}."));
    }
    notes
}
