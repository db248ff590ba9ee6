//! What Valgrind found besides the errors that have their stacks on the page: what is not the user's, in a line for each library; its leaks,
//! where nobody else searched for them; and whether it was read to its end.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::memcheck_engine::{EngineFindings, EngineRecord, FoldedRecords};

use super::errors::write_stack;
use super::leak_options::LeakOptions;
use super::page::Page;
use crate::catalogue::engine::{kinds, name, unread};
use crate::catalogue::number::count;
use crate::catalogue::wording::{one_line, plural, plural_count};

pub(super) fn write(profile: &Profile, options: &LeakOptions<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let Some(found) = profile.engine.as_ref().filter(|found| has_more_than_errors(found)) else {
        return Ok(());
    };
    write_folded(found, page)?;
    if options.names_suppressed {
        write_suppressed(found, page)?;
    }
    if let Some(signal) = &found.signal {
        page.line(&format!("  The program was ended by {} under {}.", one_line(signal), name(found)))?;
    }
    if found.not_kept > 0 {
        page.line(&format!("  {} more records of your code are not shown.", count(found.not_kept)))?;
    }
    if let Some(why) = unread(found) {
        page.wrapped("  ", &why)?;
    }
    page.line("")
}

fn has_more_than_errors(found: &EngineFindings) -> bool {
    let is_whole = found.incomplete.is_none() && found.not_kept == 0 && found.signal.is_none();
    !(is_whole && found.folded.is_empty() && found.suppressed.is_empty())
}

/// Leaks that it found, where no other engine searched for them.
pub(super) fn write_leaks(
    found: &EngineFindings,
    options: &LeakOptions<'_>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let leaks: Vec<&EngineRecord> =
        found.records.iter().filter(|record| record.leak_kind().is_some()).collect();
    let bytes: u64 = leaks.iter().filter_map(|record| record.leaked).map(|(bytes, _)| bytes).sum();
    let in_stacks = plural_count(leaks.len() as u64, "stack");
    page.line(&format!("  Leaks by {}: {} bytes of your code in {in_stacks}", name(found), count(bytes)))?;
    for record in leaks.iter().filter(|_| !options.kinds.is_empty()) {
        page.line("")?;
        page.emphasised("  ", &one_line(&record.what))?;
        write_stack(&record.stack, options, page)?;
    }
    Ok(())
}

fn write_folded(found: &EngineFindings, page: &mut Page<'_>) -> io::Result<()> {
    let records: u64 = found.folded.iter().map(FoldedRecords::records).sum();
    if records == 0 {
        return Ok(());
    }
    let are = if records == 1 { "is" } else { "are" };
    page.line(&format!(
        "  {} {} of {} {are} not of your code:",
        count(records),
        plural(records, "record"),
        name(found)
    ))?;
    found.folded.iter().try_for_each(|one| {
        let library = one_line(&one.module);
        let why = one.reason.unwrap_or("all frames are of installed libraries");
        page.line(&format!("    {:>7} in {library}: {} ({why})", count(one.records()), kinds(one)))
    })
}

fn write_suppressed(found: &EngineFindings, page: &mut Page<'_>) -> io::Result<()> {
    found.suppressed.iter().try_for_each(|(name, times)| {
        page.line(&format!("    {:>7} suppressed: {}", count(*times), one_line(name)))
    })
}
