//! Memory errors, each with its stacks side by side: of the call, of the first free, of the allocation.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{AnalysedError, ErrorSection};

use super::markup::Markup;
use crate::catalogue::errors::{ErrorGroup, changed_between, grouped, headline};
use crate::catalogue::number::count;
use crate::catalogue::stack::label::NO_STACK;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::wording::plural;

/// Groups that are shown.
const SHOWN: usize = 50;
/// Frames of each stack.
const FRAMES: usize = 12;
/// Longest text of a frame.
const ROOM: usize = 100;

/// Writes the errors of all processes; nothing where there are none.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let errors = profile.tree_errors();
    let groups = grouped(errors.iter().map(|(_, error)| *error));
    if groups.is_empty() {
        return;
    }
    page.section("errors", "Memory errors", |page| {
        groups.iter().take(SHOWN).for_each(|group| write_group(group, page));
        if let Some(more) = groups.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            let errors = plural(more as u64, "error");
            let text = format!("{} more {errors} in the JSON report.", count(more as u64));
            page.element("p", &[("class", "note")], &text);
        }
    });
}

fn write_group(group: &ErrorGroup<'_>, page: &mut Markup) {
    let kind = group.first.memcheck_kind.clone();
    page.inside("article", &[("class", "memory-error"), ("data-error", &kind)], |page| {
        page.inside("h3", &[], |page| page.name(&headline(group)));
        if let Some(text) = changed_between(group.first) {
            page.element("p", &[], &text);
        }
        write_stacks(group.first, page);
    });
}

fn write_stacks(error: &AnalysedError, page: &mut Markup) {
    let scrolls = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Stacks")];
    page.inside("div", &scrolls, |page| {
        page.inside("div", &[("class", "stacks")], |page| {
            error.sections().iter().for_each(|section| write_section(section, page));
        });
    });
}

fn write_section(section: &ErrorSection<'_>, page: &mut Markup) {
    page.inside("div", &[], |page| {
        page.inside("strong", &[], |page| page.name(section.text));
        if section.stack.is_empty() {
            page.element("span", &[], NO_STACK);
        }
        let frames = section.stack.iter().take(FRAMES);
        frames.for_each(|frame| page.inside("span", &[], |page| page.name(&frame_text(frame, ROOM))));
    });
}
