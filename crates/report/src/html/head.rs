//! The top of the page and its foot: what ran, the verdict, the figures, and the overhead of Heaplens.

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::{How, Verdict};
use heaplens_analyze::profile::{Category, Measure};

use super::markup::Markup;
use crate::catalogue::number::{percent, seconds, size};
use crate::catalogue::process::{self, ending, is_running};
use crate::catalogue::verdict::{below_floor, judgement, resident};
use crate::catalogue::wording::{cut, one_line, plural_count};

/// Longest command in the title of a window.
const LONGEST_TITLE: usize = 60;

/// The title of the window.
pub(super) fn title(profile: &Profile) -> String {
    let command = cut(&one_line(&profile.run.command.join(" ")), LONGEST_TITLE);
    match profile.verdict() {
        Some(verdict) => format!("{command} · {} · Heaplens", word(verdict)),
        None => format!("{command} · Heaplens"),
    }
}

/// What ran, and how.
pub(super) fn banner(profile: &Profile, page: &mut Markup) {
    page.inside("header", &[("class", "banner")], |page| {
        page.fixed("<p class=\"mark\">heaplens</p>");
        page.inside("div", &[("class", "ran")], |page| {
            page.inside("p", &[("class", "command")], |page| page.name(&profile.run.command.join(" ")));
            page.element("p", &[("class", "about")], &about(profile).join(" · "));
        });
        page.fixed("<button id=\"theme\" type=\"button\" hidden>Dark</button>");
    });
}

fn about(profile: &Profile) -> Vec<String> {
    let mut about = vec![if is_running(profile) { "still running".to_owned() } else { ending(profile.exit) }];
    if profile.run.wall.get() > 0 {
        about.push(seconds(profile.run.wall));
    }
    if profile.diagnosis.how == How::Marks {
        about.push(plural_count(profile.diagnosis.count, "iteration"));
    } else if let Some(found) = &profile.iterations {
        about.push(process::iterations(found).replacen(" of the loop", " iterations of the loop", 1));
    }
    about.extend(profile.python.map(process::python_name));
    about.extend(
        profile.sampled.map(|interval| format!("sampled every {}: figures are estimates", size(interval))),
    );
    about
}

/// The verdict, readable at a glance, and the figures below it.
pub(super) fn verdict(profile: &Profile, page: &mut Markup) {
    let Some(verdict) = profile.verdict() else {
        page.fixed("<section class=\"verdict\" aria-labelledby=\"verdict\"><h1 id=\"verdict\">Nothing was recorded</h1></section>");
        return;
    };
    page.inside("section", &[("class", "verdict"), ("aria-labelledby", "verdict")], |page| {
        page.element("p", &[("class", "word"), ("data-verdict", verdict.name())], word(verdict));
        page.inside("h1", &[("id", "verdict")], |page| {
            let subject = process::subject(profile);
            if !subject.is_empty() {
                page.element("span", &[("class", "subject")], &subject);
            }
            if let Some(resident) = resident(profile) {
                page.element("span", &[("class", "resident")], &resident);
                page.fixed("<span class=\"separator\">, </span>");
            }
            page.element("span", &[("class", "judgement")], &judgement(profile, verdict));
        });
        if let Some(text) = below_floor(profile) {
            page.element("p", &[("class", "note")], &text);
        }
        figures(profile, page);
    });
}

/// The verdict in a word or two.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Leak => "Leak",
        Verdict::GrowthUnexplained => "Unexplained growth",
        Verdict::Growth => "Growth, no leak",
        Verdict::Lost => "Lost blocks",
        Verdict::Plateau => "Plateau",
        Verdict::Clean => "Clean",
        Verdict::TooShort => "Too short to judge",
    }
}

fn figures(profile: &Profile, page: &mut Markup) {
    let last = if is_running(profile) { "live now" } else { "live at exit" };
    page.inside("dl", &[("class", "figures")], |page| {
        if profile.knows_end_of_script {
            measure(page, "live at end of script", "held", profile.heap().held);
        }
        measure(page, last, "live", profile.heap().live);
        measure(page, "live at peak", "peak", profile.heap().peak);
        measure(page, "total allocated", "allocated", profile.heap().allocated);
        if profile.object_interval.is_some() {
            let objects = profile.total(Category::Objects);
            let held = if profile.knows_end_of_script { objects.held } else { objects.live };
            measure(page, "small Python objects", "objects", held);
        }
        if let Some(rss) = profile.rss {
            page.inside("div", &[("data-figure", "rss")], |page| {
                page.element("dt", &[], "peak RSS");
                page.inside("dd", &[], |page| page.bytes(rss.peak));
            });
        }
    });
}

fn measure(page: &mut Markup, what: &str, id: &'static str, measure: Measure) {
    page.inside("div", &[("data-figure", id)], |page| {
        page.element("dt", &[], what);
        page.inside("dd", &[], |page| {
            page.bytes(measure.bytes);
            let margin =
                measure.margin.map_or_else(String::new, |margin| format!("± {} ", size(margin.bytes)));
            page.element("small", &[], &format!("{margin}in {}", plural_count(measure.blocks, "block")));
        });
    });
}

/// The overhead of Heaplens.
pub(super) fn footer(profile: &Profile, page: &mut Markup) {
    let cost = &profile.cost;
    let cpu = match cost.share() {
        Some(share) => format!("{} of the CPU time", percent(share)),
        None => format!("{} of CPU time", seconds(cost.agent_cpu)),
    };
    let (arena, private) = (size(cost.arena), size(cost.private));
    page.inside("footer", &[], |page| {
        page.element(
            "p",
            &[],
            &format!(
                "Heaplens {} used {cpu}, {arena} for its tables and {private} inside the program. This page is self-contained and loads nothing.",
                process::version(profile)
            ),
        );
    });
}
