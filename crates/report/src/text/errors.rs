//! Memory errors: a few lines each on the page of a run, and with all stacks, in Memcheck's words, in that of a leak check.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{AnalysedError, StackFrame};

use super::leak_options::{LeakOptions, frame_line};
use super::page::Page;
use crate::catalogue::errors::{ErrorGroup, changed_between, grouped, headline, lines, suppression};
use crate::catalogue::number::count;
use crate::catalogue::wording::{one_line, plural, plural_count};

/// Groups that are shown on the page of a run.
const SHOWN: usize = 8;
/// Width of what stands before a line.
const NAME: usize = 14;

/// Writes what is wrong, if anything is, in all processes.
pub(super) fn write_short(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let errors = profile.tree_errors();
    let groups = grouped(errors.iter().map(|(_, error)| *error));
    if groups.is_empty() {
        return write_of_libraries(profile, page);
    }
    page.line("")?;
    page.emphasised("  ", &plural_count(groups.len() as u64, "memory error"))?;
    for group in groups.iter().take(SHOWN) {
        write_group(group, page)?;
    }
    if let Some(more) = groups.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let errors = plural(more as u64, "error");
        page.line(&format!("     {} more {errors} in the JSON report", count(more as u64)))?;
    }
    write_of_libraries(profile, page)
}

fn write_group(group: &ErrorGroup<'_>, page: &mut Page<'_>) -> io::Result<()> {
    page.line(&format!("     {}", headline(group)))?;
    let room = page.options.width.saturating_sub(7 + NAME);
    let mut lines = lines(group.first, room).into_iter();
    lines.try_for_each(|(name, text)| page.line(&format!("       {name:<NAME$}{text}")))
}

/// Mismatched frees that no code of the user's made.
fn write_of_libraries(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    match profile.errors.of_libraries.len() as u64 {
        0 => Ok(()),
        number => page.line(&format!(
            "  {} in libraries (heaplens memcheck shows {})",
            plural_count(number, "mismatched free"),
            if number == 1 { "it" } else { "them" }
        )),
    }
}

/// Writes each error with its stacks.
pub(super) fn write_full(
    profile: &Profile,
    options: &LeakOptions<'_>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    for error in &profile.errors.reported {
        for (at, section) in error.sections().iter().enumerate() {
            let text = one_line(section.text);
            match at {
                0 => page.emphasised("  ", &format!("{text}{}", times(error)))?,
                _ => page.line(&format!("   {text}"))?,
            }
            write_stack(section.stack, options, page)?;
        }
        if let Some(text) = changed_between(error) {
            page.line(&format!("   {text}"))?;
        }
        if let Some(options) = error.guard_options() {
            page.line(&format!("   To catch the access itself: {}", one_line(&options)))?;
        }
        if let Some(names) = options.suppressions {
            write!(page.out, "{}", suppression(error, names, options.callers))?;
        }
        page.line("")?;
    }
    Ok(())
}

fn times(error: &AnalysedError) -> String {
    if error.count > 1 { format!("  ({} times)", count(error.count)) } else { String::new() }
}

/// A stack, as many frames of it as are wanted.
pub(super) fn write_stack(
    stack: &[StackFrame],
    options: &LeakOptions<'_>,
    page: &mut Page<'_>,
) -> io::Result<()> {
    for frame in stack.iter().take(options.callers) {
        page.line(&frame_line(frame, options, page.options.width))?;
    }
    match stack.len().saturating_sub(options.callers) {
        0 => Ok(()),
        rest => page.line(&format!(
            "     and {} more {} (--num-callers)",
            count(rest as u64),
            plural(rest as u64, "caller")
        )),
    }
}
