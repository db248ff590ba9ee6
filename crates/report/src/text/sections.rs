//! Parts of the program whose leaks were checked: what each left, line by line, and what holds it.

use std::io;

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SectionLine, SectionProfile};
use heaplens_format::Bytes;

use super::page::Page;
use crate::catalogue::number::{count, size};
use crate::catalogue::reference_path::path_text;
use crate::catalogue::sections::{growth, headline, left_words, note, objects};
use crate::catalogue::stack::label::NO_STACK;
use crate::catalogue::stack::location::{frame_text, location};
use crate::catalogue::wording::{one_line, plural, plural_count};

/// Lines that are named.
const SHOWN: usize = 8;

/// Writes all sections.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    profile.sections.iter().try_for_each(|section| write_section(profile, section, page))
}

fn write_section(profile: &Profile, section: &SectionProfile, page: &mut Page<'_>) -> io::Result<()> {
    page.title(&one_line(&format!("Leak check of {}", headline(section))))?;
    let are_sampled = profile.object_interval.is_some_and(|interval| interval > Bytes::new(1));
    let begun = section.begun.as_ref().and_then(location).map(|at| format!("opened at {at}"));
    for words in [begun, growth(section), objects(section, are_sampled), note(section)].into_iter().flatten()
    {
        page.wrapped(&format!("  {:>10}   ", ""), &words)?;
    }
    for line in section.lines.iter().take(SHOWN) {
        write_line(profile, section, line, page)?;
    }
    let more = section.lines.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        page.line(&format!(
            "  {:>10}   {} more {} in the JSON report",
            "",
            count(more),
            plural(more, "line")
        ))?;
    }
    Ok(())
}

fn write_line(
    profile: &Profile,
    section: &SectionProfile,
    line: &SectionLine,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let front = format!(
        "  {:>10}   {:>12}   {:<15}  ",
        size(line.amount.bytes),
        plural_count(line.amount.blocks, "block"),
        left_words(line.left_as)
    );
    let room = page.options.width.saturating_sub(front.chars().count());
    let frame = profile.line_of(line.stack).or_else(|| profile.frames(line.stack).next());
    page.line(&format!(
        "{front}{}",
        frame.map_or_else(|| NO_STACK.to_owned(), |frame| frame_text(frame, room))
    ))?;
    match &section.holder(line)[..] {
        [] => Ok(()),
        steps => page.line(&format!("  {:>10}   held by {}", "", one_line(&path_text(steps)))),
    }
}
