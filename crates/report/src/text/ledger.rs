//! The ledger as a table in MiB, one line for each category of memory; lines that would read 0.0 are omitted.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LedgerProfile, MappingProfile, Moments};
use heaplens_format::memory::LineRow;
use heaplens_format::recording::Ledger;

use super::page::Page;
use crate::catalogue::evidence;
use crate::catalogue::ledger::{
    SMALLEST, anything_grows, mib, named_after, notes, pace_of_sum, pace_words, sum_label, title, words,
};
use crate::catalogue::number::{count, seconds, size};

/// Mappings that are named.
const MAPPINGS: usize = 3;
/// Smaller ones are not.
const WORTH_NAMING: u64 = 1 << 20;

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
            row(page, line.label, moments, &pace(profile.diagnosis.of_ledger(space, &[line.line])))?;
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

/// Processes that live together, where they share memory.
pub(super) fn write_tree(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(tree) = profile.tree else { return Ok(()) };
    let [rss, pss, uss] = [tree.rss, tree.pss, tree.uss].map(size);
    let (processes, at) = (count(tree.processes as u64), seconds(tree.at));
    page.line(&format!(
        "  process tree    {processes} processes at {at}: PSS {pss} · USS {uss} · RSS {rss} (including Heaplens)"
    ))
}

fn row(page: &mut Page<'_>, name: &str, moments: Moments, pace: &str) -> io::Result<()> {
    let [start, peak, end] = [moments.start, moments.peak, moments.end].map(mib);
    page.line(&format!("    {name:<24}{start:>10}{peak:>10}{end:>10}{pace:>16}"))
}

/// The largest mappings of a line by stack or by name.
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
