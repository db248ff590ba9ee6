//! The leak check: blocks that were unreachable at the end.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks};
use heaplens_format::recording::{Amount, LeakKind};

use super::markup::Markup;
use crate::catalogue::number::count;
use crate::catalogue::stack::label::NO_STACK;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::wording::{plural, plural_count};

/// Stacks that are named.
const SHOWN: usize = 20;
/// Frames of each.
const FRAMES: usize = 6;
/// Longest text of a frame.
const ROOM: usize = 140;

/// Writes the result of the leak check; nothing where there was none.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let Some(leaks) = &profile.leaks else { return };
    page.section("lost", "Leak check", |page| match leaks {
        Leaks::NotDone(why) => {
            page.inside("p", &[("class", "note")], |page| {
                page.text("No leak check: ");
                page.name(why);
            });
        }
        Leaks::Done(records) => {
            sums(profile, page);
            let is_lost = |record: &&LeakRecord| record.kind == LeakKind::DefinitelyLost;
            let lost: Vec<&LeakRecord> = records.iter().filter(is_lost).collect();
            if !lost.is_empty() {
                table(profile, &lost, page);
            }
        }
    });
}

fn sums(profile: &Profile, page: &mut Markup) {
    let suppressed: Amount = profile.suppressed.iter().map(|(_, amount)| *amount).sum();
    let rows = [
        (
            "definitely",
            "definitely lost",
            "at least: no pointers to the blocks remain; heaplens memcheck can find more",
            profile.lost(LeakKind::DefinitelyLost),
        ),
        (
            "indirectly",
            "indirectly lost",
            "only lost blocks point to them",
            profile.lost(LeakKind::IndirectlyLost),
        ),
        ("possibly", "possibly lost", "only interior pointers remain", profile.lost(LeakKind::PossiblyLost)),
        ("suppressed", "suppressed", "known leaks of libraries", suppressed),
    ];
    page.inside("dl", &[("class", "figures")], |page| {
        for (kind, name, meaning, amount) in rows {
            page.inside("div", &[("data-lost", kind)], |page| {
                page.element("dt", &[("title", meaning)], name);
                page.inside("dd", &[], |page| {
                    page.bytes(amount.bytes);
                    page.element("small", &[], &format!("in {}", plural_count(amount.blocks, "block")));
                });
            });
        }
    });
}

fn table(profile: &Profile, lost: &[&LeakRecord], page: &mut Markup) {
    let scrolls = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Lost blocks")];
    page.inside("div", &scrolls, |page| {
        page.inside("table", &[("class", "numbers sites")], |page| {
            page.fixed(
                "<thead><tr><th scope=\"col\">bytes</th><th scope=\"col\">indirect</th><th scope=\"col\">blocks</th>\
                 <th scope=\"col\">allocated by</th></tr></thead>",
            );
            page.inside("tbody", &[], |page| {
                lost.iter().take(SHOWN).for_each(|record| row(profile, record, page));
            });
        });
    });
    if let Some(more) = lost.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        let text =
            format!("{} more {} in the JSON report.", count(more as u64), plural(more as u64, "stack"));
        page.element("p", &[("class", "note")], &text);
    }
}

fn row(profile: &Profile, record: &LeakRecord, page: &mut Markup) {
    page.inside("tr", &[], |page| {
        page.inside("td", &[], |page| page.bytes(record.direct.bytes));
        page.inside("td", &[], |page| page.bytes(record.indirect.bytes));
        page.element("td", &[], &count(record.direct.blocks));
        page.inside("td", &[("class", "site")], |page| {
            let line = profile.line_of(record.stack).or_else(|| profile.frames(record.stack).next());
            let first = line.map_or_else(|| NO_STACK.to_owned(), |frame| frame_text(frame, ROOM));
            page.inside("strong", &[], |page| page.name(&first));
            let frames = profile.frames(record.stack).take(FRAMES);
            frames.for_each(|frame| page.inside("span", &[], |page| page.name(&frame_text(frame, ROOM))));
        });
    });
}
