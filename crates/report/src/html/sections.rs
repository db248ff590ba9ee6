//! Parts of the program whose leaks were checked: what each left, line by line, and what holds it.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{SectionLine, SectionProfile};
use heaplens_format::Bytes;

use super::markup::Markup;
use crate::catalogue::number::count;
use crate::catalogue::reference_path::path_text;
use crate::catalogue::sections::{growth, headline, left_words, note, objects};
use crate::catalogue::stack::label::NO_STACK;
use crate::catalogue::stack::location::{frame_text, location};
use crate::catalogue::wording::plural;

/// Lines of each that are named.
const SHOWN: usize = 20;
/// Longest text of a frame.
const ROOM: usize = 140;

/// Writes all of them; nothing where there are none.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    if profile.sections.is_empty() {
        return;
    }
    page.section("sections", "Leak checks of sections", |page| {
        profile.sections.iter().for_each(|section| write_one(profile, section, page));
    });
}

fn write_one(profile: &Profile, section: &SectionProfile, page: &mut Markup) {
    page.inside("article", &[("data-section", &section.name)], |page| {
        page.inside("h3", &[], |page| page.name(&headline(section)));
        let are_sampled = profile.object_interval.is_some_and(|interval| interval > Bytes::new(1));
        let begun = section.begun.as_ref().and_then(location).map(|at| format!("opened at {at}"));
        let notes = [begun, growth(section), objects(section, are_sampled), note(section)];
        for words in notes.into_iter().flatten() {
            page.inside("p", &[("class", "note")], |page| page.name(&words));
        }
        if !section.lines.is_empty() {
            table(profile, section, page);
        }
    });
}

fn table(profile: &Profile, section: &SectionProfile, page: &mut Markup) {
    let scrolls =
        [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "What the section left")];
    page.inside("div", &scrolls, |page| {
        page.inside("table", &[("class", "numbers sites")], |page| {
            page.fixed(
                "<thead><tr><th scope=\"col\">bytes</th><th scope=\"col\">blocks</th><th scope=\"col\">left as</th>\
                 <th scope=\"col\">allocated by</th></tr></thead>",
            );
            page.inside("tbody", &[], |page| {
                section.lines.iter().take(SHOWN).for_each(|line| row(profile, section, line, page));
            });
        });
    });
    if let Some(more) = section.lines.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let text = format!("{} more {} in the JSON report.", count(more as u64), plural(more as u64, "line"));
        page.element("p", &[("class", "note")], &text);
    }
}

fn row(profile: &Profile, section: &SectionProfile, line: &SectionLine, page: &mut Markup) {
    page.inside("tr", &[], |page| {
        page.inside("td", &[], |page| page.bytes(line.amount.bytes));
        page.element("td", &[], &count(line.amount.blocks));
        page.element("td", &[], left_words(line.left_as));
        page.inside("td", &[("class", "site")], |page| {
            let frame = profile.line_of(line.stack).or_else(|| profile.frames(line.stack).next());
            let text = frame.map_or_else(|| NO_STACK.to_owned(), |frame| frame_text(frame, ROOM));
            page.inside("strong", &[], |page| page.name(&text));
            let steps = section.holder(line);
            if !steps.is_empty() {
                page.inside("span", &[], |page| page.name(&format!("held by {}", path_text(&steps))));
            }
        });
    });
}
