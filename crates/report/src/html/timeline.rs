//! The timeline: resident memory by the lines of the ledger, the readings in between, and marks. The script draws it; a
//! table has the same numbers.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::LedgerProfile;
use heaplens_format::Nanos;
use heaplens_format::memory::{Colour, LineRow, SpaceKind, Tables};
use heaplens_format::recording::Ledger;
use serde::Serialize;

use super::markup::Markup;
use crate::catalogue::ledger::SMALLEST;
use crate::catalogue::number::seconds;
use crate::catalogue::wording::cut;

/// Readings and ledgers that are drawn; more would not be seen.
const POINTS: usize = 600;
/// Marks that are drawn.
const MARKS: usize = 200;
/// Rows of the table.
const ROWS: usize = 12;
/// Longest label of a mark.
const LABEL: usize = 60;

/// What is drawn. Times are milliseconds since the start of the run.
#[derive(Debug, Serialize)]
pub(super) struct Timeline {
    /// Time, resident bytes, live bytes of the heap.
    readings: Vec<[u64; 3]>,
    /// Names of the lines that are drawn.
    layers: Vec<&'static str>,
    /// Of which number each is, for its colour.
    colours: Vec<usize>,
    /// Time, then the bytes of each line.
    ledgers: Vec<Vec<u64>>,
    marks: Vec<(u64, String)>,
}

/// The data.
pub(super) fn timeline(profile: &Profile) -> Timeline {
    let ledger = profile.ledger.as_ref();
    let shown = ledger.map(|ledger| shown(profile.tables, ledger)).unwrap_or_default();
    let all = ledger.map_or(&[][..], |ledger| &ledger.all);
    let row = |one: &Ledger| {
        let bytes = shown.iter().map(|(_, line)| one.line(line.line).get());
        std::iter::once(milliseconds(one.at)).chain(bytes).collect()
    };
    let reading = |sample: &heaplens_format::recording::Sample| {
        [milliseconds(sample.at), sample.rss.get(), sample.live.get()]
    };
    let label = |label: &Option<String>| cut(label.as_deref().unwrap_or("end of the script"), LABEL);
    Timeline {
        readings: thinned(&profile.timeline, POINTS).map(reading).collect(),
        layers: shown.iter().map(|(_, line)| line.label).collect(),
        colours: shown.iter().map(|&(number, _)| number).collect(),
        ledgers: thinned(all, POINTS).map(row).collect(),
        marks: thinned(&profile.marks, MARKS)
            .map(|mark| (milliseconds(mark.at), label(&mark.label)))
            .collect(),
    }
}

/// The part of the page.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let has_ledgers = profile.ledger.as_ref().is_some_and(|ledger| ledger.all.len() > 1);
    if profile.timeline.len() < 2 && !has_ledgers {
        return;
    }
    page.section("time", "Memory over time", |page| {
        page.fixed(
            "<p class=\"note\">Resident memory by category. The line is RSS as the kernel reports it; the areas are from the \
             ledger, which is read less often.</p>\
             <div id=\"chart\" class=\"chart\"></div><ul id=\"legend\" class=\"legend\"></ul>",
        );
        if let Some(ledger) = &profile.ledger {
            page.inside("details", &[], |page| {
                page.element("summary", &[], "Show as a table");
                table(profile.tables, ledger, page);
            });
        }
    });
}

fn table(tables: Tables, ledger: &LedgerProfile, page: &mut Markup) {
    let shown = shown(tables, ledger);
    page.inside(
        "div",
        &[
            ("class", "scroll"),
            ("tabindex", "0"),
            ("role", "region"),
            ("aria-label", "Memory over time, as a table"),
        ],
        |page| {
            page.inside("table", &[("class", "numbers")], |page| {
                page.inside("tr", &[], |page| {
                    page.element("th", &[("scope", "col")], "time");
                    page.element("th", &[("scope", "col")], "RSS");
                    shown.iter().for_each(|(_, line)| page.element("th", &[("scope", "col")], line.label));
                });
                for one in thinned(&ledger.all, ROWS) {
                    page.inside("tr", &[], |page| {
                        page.element("th", &[("scope", "row")], &seconds(one.at));
                        page.inside("td", &[], |page| page.bytes(one.program()));
                        for (_, line) in &shown {
                            page.inside("td", &[], |page| page.bytes(one.line(line.line)));
                        }
                    });
                }
            });
        },
    );
}

/// The colours of lines, for the style of the page.
pub(super) fn colours(tables: Tables) -> String {
    let lines = tables.counted(SpaceKind::HOST).enumerate();
    let class = |(number, line): (usize, &LineRow)| {
        let Colour { light, dark } = line.colour;
        format!(".layer-{number} {{ --of: light-dark(#{light:06x}, #{dark:06x}); }}\n")
    };
    lines.map(class).collect()
}

/// The lines that are not empty throughout, with the numbers of their colours.
fn shown(tables: Tables, ledger: &LedgerProfile) -> Vec<(usize, &'static LineRow)> {
    let is_shown = |line: &LineRow| ledger.all.iter().any(|one| one.line(line.line) >= SMALLEST);
    tables.counted(SpaceKind::HOST).enumerate().filter(|(_, line)| is_shown(line)).collect()
}

/// At most so many of them, the first and the last among them.
fn thinned<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let step = all.len().saturating_sub(1).div_ceil(most - 1).max(1);
    let last = all.len().saturating_sub(1);
    all.iter().enumerate().filter(move |(at, _)| at % step == 0 || *at == last).map(|(_, one)| one)
}

fn milliseconds(time: Nanos) -> u64 {
    time.get() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends() {
        let all: Vec<u32> = (0..1000).collect();
        for most in [2, 7, 600, 5000] {
            let kept: Vec<u32> = thinned(&all, most).copied().collect();
            assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&999)));
            assert!(kept.len() <= most + 1, "{most}: {}", kept.len());
        }
        assert_eq!(thinned(&[0; 0], 9).count(), 0);
    }
}
