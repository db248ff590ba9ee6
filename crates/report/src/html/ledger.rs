//! The ledger: where every resident byte was, at the start, at the peak and at the end.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LedgerProfile, MappingProfile, Moments, SpaceProfile};
use heaplens_format::memory::LineRow;
use heaplens_format::recording::Ledger;

use super::markup::Markup;
use crate::catalogue::evidence;
use crate::catalogue::ledger::{
    SMALLEST, anything_grows, mib, named_after, notes, pace_of_sum, pace_words, sum_label, title, words,
};

/// Mappings that are named below their line.
const MAPPINGS: usize = 3;
/// Smaller ones are not.
const WORTH_NAMING: u64 = 1 << 20;

/// Writes those of all spaces, where the host's was taken.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let Some(ledger) = &profile.ledger else { return };
    page.section("ledger", "Memory ledger", |page| {
        page.fixed("<p class=\"note\">Resident memory by category, in MiB. The lines add up to RSS.</p>");
        write_one(profile, ledger, page);
        for SpaceProfile { ledger, .. } in &profile.spaces {
            page.element("h3", &[], &title(profile, ledger));
            write_one(profile, ledger, page);
        }
    });
}

fn write_one(profile: &Profile, ledger: &LedgerProfile, page: &mut Markup) {
    let title = title(profile, ledger);
    let scrolls = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", &*title)];
    page.inside("div", &scrolls, |page| table(profile, ledger, page));
    for note in notes(profile, ledger) {
        page.element("p", &[("class", "note")], &note);
    }
}

fn table(profile: &Profile, ledger: &LedgerProfile, page: &mut Markup) {
    let grows = anything_grows(profile, ledger.space);
    page.inside("table", &[("class", "numbers ledger")], |page| {
        page.inside("thead", &[], |page| {
            page.inside("tr", &[], |page| {
                let per = format!("per {}", evidence::per(profile));
                let heads = ["", "start", "peak", "end"].into_iter().chain(grows.then_some(&*per));
                for head in heads {
                    match head {
                        "" => page.element("td", &[], ""),
                        _ => page.element("th", &[("scope", "col")], head),
                    }
                }
            });
        });
        page.inside("tbody", &[], |page| lines(profile, ledger, grows, page));
        page.inside("tfoot", &[], |page| sums(profile, ledger, grows, page));
    });
}

fn lines(profile: &Profile, ledger: &LedgerProfile, grows: bool, page: &mut Markup) {
    for line in profile.tables.counted(ledger.space.kind) {
        let moments = ledger.line(line.line);
        if moments.most() >= SMALLEST {
            let pace = profile.diagnosis.of_ledger(ledger.space, &[line.line]);
            row(page, (line.key, line.label), moments, grows.then(|| pace_words(pace)));
            mappings(profile, ledger, line, grows, page);
        }
    }
}

/// The sum of the lines, and the lines that are not part of it.
fn sums(profile: &Profile, ledger: &LedgerProfile, grows: bool, page: &mut Markup) {
    let (label, pace) = (sum_label(profile, ledger), pace_of_sum(profile, ledger));
    let sum = ledger.moments(Ledger::program);
    row(page, (&label.to_lowercase(), label), sum, grows.then(|| pace_words(pace)));
    for line in profile.tables.lines_of(ledger.space.kind).filter(|line| !line.counts) {
        row(page, (line.key, line.label), ledger.line(line.line), grows.then(|| pace_words(None)));
    }
}

fn row(page: &mut Markup, (id, name): (&str, &str), moments: Moments, pace: Option<String>) {
    page.inside("tr", &[("data-line", id)], |page| {
        page.element("th", &[("scope", "row")], name);
        for bytes in [moments.start, moments.peak, moments.end] {
            page.inside("td", &[], |page| page.exactly(bytes, &mib(bytes)));
        }
        if let Some(pace) = pace {
            page.element("td", &[], &pace);
        }
    });
}

/// The largest mappings of a line, by stack or by name.
fn mappings(profile: &Profile, ledger: &LedgerProfile, line: &LineRow, grows: bool, page: &mut Markup) {
    if named_after(line).is_none() {
        return;
    }
    let large =
        |mapping: &&MappingProfile| mapping.line == line.line && mapping.bytes.most().get() >= WORTH_NAMING;
    for mapping in ledger.mappings.iter().filter(large).take(MAPPINGS) {
        page.inside("tr", &[("class", "part")], |page| {
            page.inside("th", &[("scope", "row")], |page| page.name(&words(profile, mapping)));
            for bytes in [mapping.bytes.start, mapping.bytes.peak, mapping.bytes.end] {
                page.inside("td", &[], |page| page.exactly(bytes, &mib(bytes)));
            }
            if grows {
                page.element("td", &[], "");
            }
        });
    }
}
