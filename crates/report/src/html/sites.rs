//! The top allocation sites as a table: what the flame graph shows, for those who do not see it.

use heaplens_analyze::Profile;
use heaplens_analyze::profile::Category;

use super::markup::Markup;
use crate::catalogue::number::{count, size};
use crate::catalogue::ranking::{RankedSite, Ranking, ranking};
use crate::catalogue::wording::plural;

/// Sites that are listed.
const TOP: usize = 15;
/// Longest text of a frame.
const ROOM: usize = 160;

/// Writes a table for each category of blocks: of the heap, of small Python objects.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let of_blocks = Category::ALL.iter().filter(|category| !category.row().is_mapped);
    let tables: Vec<Ranking> = of_blocks.map(|&one| ranking(profile, one, TOP, ROOM)).collect();
    if tables.iter().all(|table| table.rows.is_empty()) {
        return;
    }
    page.section("sites", "Top allocation sites", |page| {
        for Ranking { title, rows, others } in tables.iter().filter(|table| !table.rows.is_empty()) {
            page.element("h3", &[], title);
            table(title, rows, page);
            if *others > 0 {
                let more =
                    format!("{} smaller {} not shown", count(*others as u64), plural(*others as u64, "site"));
                page.element("p", &[("class", "note")], &more);
            }
        }
    });
}

fn table(title: &str, rows: &[RankedSite], page: &mut Markup) {
    let scrolls = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", title)];
    page.inside("div", &scrolls, |page| {
        page.inside("table", &[("class", "numbers sites")], |page| {
            page.fixed(
                "<thead><tr><th scope=\"col\">bytes</th><th scope=\"col\">share</th><th scope=\"col\">blocks</th>\
                 <th scope=\"col\">site</th></tr></thead>",
            );
            page.inside("tbody", &[], |page| rows.iter().for_each(|one| row(one, page)));
        });
    });
}

fn row(row: &RankedSite, page: &mut Markup) {
    page.inside("tr", &[], |page| {
        page.inside("td", &[], |page| {
            page.bytes(row.measure.bytes);
            if let Some(margin) = row.measure.margin {
                page.element("small", &[], &format!(" ± {}", size(margin.bytes)));
            }
        });
        page.element("td", &[], &row.share);
        page.element("td", &[], &count(row.measure.blocks));
        page.inside("td", &[("class", "site")], |page| {
            let mut lines = row.lines.iter();
            let first = lines.next().map_or(crate::catalogue::stack::label::NO_STACK, String::as_str);
            page.inside("strong", &[], |page| page.name(first));
            if let Some(source) = &row.source {
                page.inside("code", &[], |page| page.name(source));
            }
            lines.for_each(|line| page.inside("span", &[], |page| page.name(line)));
            if row.stacks > 1 {
                page.element("span", &[], &format!("the largest of {} stacks", count(row.stacks)));
            }
        });
    });
}
