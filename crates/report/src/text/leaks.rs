//! The leak check: totals of each kind, and the stacks that allocated the blocks.

use std::io::{self, Write};

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks, StackFrame, leaked};
use heaplens_analyze::suppressions::Names;
use heaplens_format::recording::{Amount, LeakKind};

use super::page::{Options, Page};
use super::{footer, header};
use crate::catalogue::leaks::{name, suppression};
use crate::catalogue::number::count;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::wording::{one_line, plural, plural_count};

/// Which leaks are shown, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions<'a> {
    /// Kinds whose stacks are shown; none: sums alone.
    pub kinds: Vec<LeakKind>,
    /// Frames of a stack.
    pub callers: usize,
    /// Where any is given, paths of files are shown in full, or after the first of these prefixes that they contain.
    pub paths_after: Vec<String>,
    /// Whether the suppressions that matched are listed.
    pub names_suppressed: bool,
    /// What Valgrind calls the frames, where a suppression is to follow each stack.
    pub suppressions: Option<&'a Names>,
}

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
    match &profile.leaks {
        None => page.line("  No leak check: the process was not inspected at its end.")?,
        Some(Leaks::NotDone(reason)) => page.wrapped("  No leak check: ", reason)?,
        Some(Leaks::Done(records)) => write_records(profile, records, leaks, &mut page)?,
    }
    let is_complete = profile.tree_losses().is_empty() && profile.damage.is_empty();
    if is_complete { Ok(()) } else { footer::write_losses(profile, &mut page) }
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
    let room = page.options.width.saturating_sub(5);
    let frames = profile.frames(record.stack);
    for frame in frames.clone().take(options.callers) {
        let full = full_location(frame, &options.paths_after);
        page.line(&format!("     {}", full.unwrap_or_else(|| frame_text(frame, room))))?;
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

/// A frame with the path of its file, where that is asked for and known.
fn full_location(frame: &StackFrame, paths_after: &[String]) -> Option<String> {
    let (file, line) = (frame.file.as_deref().filter(|_| !paths_after.is_empty())?, frame.line?);
    let after_prefix = |after: &String| file.split_once(after.as_str()).map(|(_, path)| path);
    let path = paths_after.iter().filter(|after| !after.is_empty()).find_map(after_prefix).unwrap_or(file);
    let name = frame.function.as_deref().unwrap_or_default();
    Some(one_line(&format!("{name}  {path}:{line}")))
}

/// To the byte, as those who know Memcheck expect it.
fn bytes(amount: Amount) -> String {
    format!("{} B", count(amount.bytes.get()))
}

fn blocks(amount: Amount) -> String {
    plural_count(amount.blocks, "block")
}
