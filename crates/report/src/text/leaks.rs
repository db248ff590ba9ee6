//! The leak check: totals of each kind, and the stacks that allocated the blocks.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks, leaked};
use heaplens_format::recording::{Amount, LeakKind};

pub use super::leak_options::LeakOptions;
use super::leak_options::frame_line;
use super::page::{Options, Page};
use super::{engine, errors, footer, header, sections};
use crate::catalogue::leaks::{name, suppression};
use crate::catalogue::number::count;
use crate::catalogue::wording::{plural, plural_count};

/// Writes the page.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(
    profile: &Profile,
    options: Options,
    leaks: &LeakOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { options, out };
    header::write_command(profile, &mut page)?;
    if profile.pid != profile.main {
        header::write_process(profile, &mut page)?;
    }
    page.line("")?;
    errors::write_full(profile, leaks, &mut page)?;
    engine::write(profile, leaks, &mut page)?;
    let by_engine = profile.engine.as_ref().filter(|found| found.is_only);
    if by_engine.is_none() {
        write_heap(profile, &mut page)?;
    }
    match &profile.leaks {
        None if !leaks.is_leak_check => {}
        None if by_engine.is_some() => {
            by_engine.map_or(Ok(()), |found| engine::write_leaks(found, leaks, &mut page))?;
        }
        None => page.line("  No leak check: the process was not inspected at its end.")?,
        Some(Leaks::NotDone(reason)) => page.wrapped("  No leak check: ", reason)?,
        Some(Leaks::Done(records)) => write_records(profile, records, leaks, &mut page)?,
    }
    write_error_summary(profile, leaks, &mut page)?;
    sections::write(profile, &mut page)?;
    let is_complete = profile.tree_losses().is_empty() && profile.damage.is_empty();
    if is_complete { Ok(()) } else { footer::write_losses(profile, &mut page) }
}

/// As Memcheck has it: scripts look for these lines.
fn write_heap(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let heap = profile.heap();
    let (live, all) = (heap.live, heap.allocated);
    let frees = count(all.blocks.saturating_sub(live.blocks));
    page.line("  HEAP SUMMARY:")?;
    page.line(&format!(
        "      in use at exit: {} bytes in {} blocks",
        count(live.bytes.get()),
        count(live.blocks)
    ))?;
    page.line(&format!(
        "    total heap usage: {} allocs, {frees} frees, {} bytes allocated",
        count(all.blocks),
        count(all.bytes.get())
    ))?;
    if profile.errors.guarded_blocks > 0 {
        page.line(&format!("    guard pages: {} blocks", count(profile.errors.guarded_blocks)))?;
    }
    page.line("")
}

fn write_error_summary(profile: &Profile, options: &LeakOptions<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let errors = &profile.errors;
    let made = errors.reported.iter().fold(0u64, |sum, error| sum.saturating_add(error.count));
    let leaked =
        leaks_of(profile).iter().filter(|record| options.errors.contains(&record.kind)).count() as u64;
    let of_engine = profile.engine.iter().flat_map(|found| &found.records);
    let leaked = leaked
        + of_engine
            .filter(|record| record.leak_kind().is_some_and(|kind| options.errors.contains(&kind)))
            .count() as u64;
    let contexts = errors.reported.len() as u64 + leaked;
    let suppressed = errors.suppressed.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    page.line("")?;
    page.line(&format!(
        "  ERROR SUMMARY: {} errors from {} contexts (suppressed: {} from {})",
        count(made.saturating_add(leaked)),
        count(contexts),
        count(suppressed),
        count(errors.suppressed.len() as u64)
    ))
}

fn leaks_of(profile: &Profile) -> &[LeakRecord] {
    match &profile.leaks {
        Some(Leaks::Done(records)) => records,
        Some(Leaks::NotDone(_)) | None => &[],
    }
}

fn write_records(
    profile: &Profile,
    records: &[LeakRecord],
    options: &LeakOptions<'_>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    for kind in LeakKind::ALL {
        let total = leaked(records, kind);
        page.line(&format!("  {:16}  {:>12} in {}", name(kind), bytes(total), blocks(total)))?;
    }
    if let Some(total) = profile.unreferenced().filter(|total| total.blocks > 0) {
        page.line(&format!("  unreferenced Python objects: {} in {}", bytes(total), blocks(total)))?;
    }
    write_suppressed(profile, options, page)?;
    let shown = records.iter().filter(|record| options.kinds.contains(&record.kind));
    for (rank, record) in (1..).zip(shown) {
        page.line("")?;
        page.emphasised(&format!("  {rank}  "), &headline(record))?;
        write_stack(profile, record, options, page)?;
        if let Some(names) = options.suppressions {
            write!(page.out, "{}", suppression(profile, record, names, options.callers))?;
        }
    }
    let hidden = records.iter().filter(|record| !options.kinds.contains(&record.kind)).count();
    if hidden > 0 {
        page.line("")?;
        let stacks = plural(hidden as u64, "stack");
        page.line(&format!(
            "  {} {stacks} not shown: --leak-check=full --show-leak-kinds=all",
            count(hidden as u64)
        ))?;
    }
    Ok(())
}

/// Suppressed leaks: their total, and each by the name of its suppression where that is asked for.
fn write_suppressed(profile: &Profile, options: &LeakOptions<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let known = &profile.suppressed;
    if known.is_empty() {
        return Ok(());
    }
    let total: Amount = known.iter().map(|(_, amount)| *amount).sum();
    page.line(&format!("  {:16}  {:>12} in {}", "suppressed", bytes(total), blocks(total)))?;
    for (name, amount) in known.iter().filter(|_| options.names_suppressed) {
        page.line(&format!("    {:>14} in {}  {name}", bytes(*amount), blocks(*amount)))?;
    }
    Ok(())
}

fn headline(record: &LeakRecord) -> String {
    let own = format!("{} in {} {}", bytes(record.direct), blocks(record.direct), name(record.kind));
    match record.indirect.blocks {
        0 => own,
        _ => format!("{own}, plus {} in {} indirectly lost", bytes(record.indirect), blocks(record.indirect)),
    }
}

fn write_stack(
    profile: &Profile,
    record: &LeakRecord,
    options: &LeakOptions<'_>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let frames = profile.frames(record.stack);
    for frame in frames.clone().take(options.callers) {
        page.line(&frame_line(frame, options, page.options.width))?;
    }
    match frames.count().saturating_sub(options.callers) {
        0 => Ok(()),
        rest => page.line(&format!(
            "     and {} more {} (--num-callers)",
            count(rest as u64),
            plural(rest as u64, "caller")
        )),
    }
}

/// To the byte, as those who know Memcheck expect it.
fn bytes(amount: Amount) -> String {
    format!("{} B", count(amount.bytes.get()))
}

fn blocks(amount: Amount) -> String {
    plural_count(amount.blocks, "block")
}
