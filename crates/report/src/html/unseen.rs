//! Completeness: losses, and processes that the page is not about. A page without this part would claim to be complete.

use heaplens_analyze::Profile;
use heaplens_format::recording::Reading;

use super::markup::Markup;
use crate::catalogue::number::count;
use crate::catalogue::process::{OtherProcesses, other_processes, python_name, tree_loss_words, why_unread};

/// Processes that are named.
const PROCESSES: usize = 12;

/// Writes it.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let lines = lines(profile);
    page.section("unseen", "Completeness", |page| {
        if lines.is_empty() {
            page.fixed("<p>No allocation events lost, no stacks truncated.</p>");
        } else {
            page.inside("ul", &[], |page| {
                lines.iter().for_each(|line| page.inside("li", &[], |page| page.name(line)));
            });
        }
        others(profile, page);
    });
}

fn lines(profile: &Profile) -> Vec<String> {
    let unread = profile.python.filter(|python| python.reading != Reading::Frames);
    let unread = unread.map(|python| format!("{}: {}", python_name(python), why_unread(python.reading)));
    let refusal = profile.holders.refusal().map(|why| format!("last heap snapshot: {why}"));
    let lost = profile.tree_losses();
    let losses = lost.iter().map(|loss| tree_loss_words(profile, loss));
    let damage = profile.damage.iter().map(|damage| format!("the recording is damaged {damage}"));
    unread.into_iter().chain(refusal).chain(losses).chain(damage).collect()
}

/// Processes that this page is not about.
fn others(profile: &Profile, page: &mut Markup) {
    let others = other_processes(profile);
    if others.is_empty() {
        return;
    }
    page.fixed("<h3>Other processes</h3>");
    let scrolls =
        [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Other processes")];
    page.inside("div", &scrolls, |page| {
        page.inside("table", &[("class", "numbers sites")], |page| {
            page.fixed(
                "<thead><tr><th scope=\"col\">process</th><th scope=\"col\">verdict</th><th scope=\"col\">at exit</th>\
                 <th scope=\"col\">at peak</th><th scope=\"col\">command</th></tr></thead>",
            );
            page.inside("tbody", &[], |page| others.iter().take(PROCESSES).for_each(|other| process(other, page)));
        });
    });
    if let Some(more) = others.len().checked_sub(PROCESSES).filter(|&more| more > 0) {
        page.element("p", &[("class", "note")], &format!("{} more", count(more as u64)));
    }
}

fn process(other: &OtherProcesses, page: &mut Markup) {
    page.inside("tr", &[], |page| {
        page.element("td", &[], &other.name);
        page.element("td", &[], other.verdict);
        page.inside("td", &[], |page| page.bytes(other.live));
        page.inside("td", &[], |page| page.bytes(other.peak));
        page.inside("td", &[("class", "site")], |page| {
            page.inside("strong", &[], |page| page.name(&other.command));
            page.element("span", &[], &other.end);
        });
    });
}
