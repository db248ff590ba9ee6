//! Findings: each with its source, its reference path as a small tree, and the facts.

use heaplens_analyze::diagnose::Finding;
use heaplens_analyze::profile::HeldBy;
use heaplens_analyze::{HolderOf, ProcessGroup, Profile};
use heaplens_format::recording::PathNode;

use super::markup::Markup;
use crate::catalogue::facts::{FIX, HELD_BY, amount, call_path, facts, share_words};
use crate::catalogue::number::count;
use crate::catalogue::process::subject_of;
use crate::catalogue::reference_path::{self, Shown};
use crate::catalogue::source::excerpt;
use crate::catalogue::stack::location::frame_text;
use crate::catalogue::verdict::verdict_line;
use crate::catalogue::wording::{cut, one_line, plural_count};

/// Lines of the user's source on either side of the one that a finding is about.
const AROUND: u32 = 2;
/// Longest line of source.
const LONGEST_LINE: usize = 200;
/// Longest text of a frame.
const ROOM: usize = 160;

/// Groups of other processes whose findings are shown, and how many of each.
const OTHERS: usize = 6;
const SHOWN_OF_OTHERS: usize = 4;

/// Writes all of them, then those of other processes with which something is wrong, the worst first.
pub(super) fn write(profile: &Profile, page: &mut Markup) {
    let groups = profile.groups();
    let is_other = |group: &&ProcessGroup<'_>| group.is_at_fault() && !group.has(profile.pid);
    let others: Vec<&ProcessGroup<'_>> = groups.iter().filter(is_other).take(OTHERS).collect();
    let findings = &profile.diagnosis.findings;
    if findings.is_empty() && others.is_empty() {
        return;
    }
    page.section("findings", "Findings", |page| {
        let mut rank = 1;
        articles(profile, findings, &mut rank, page);
        for group in others {
            let other = group.worst().profile;
            let Some(verdict) = other.verdict() else { continue };
            let line = format!("{}{}", subject_of(group), verdict_line(other, verdict));
            page.inside("h3", &[], |page| page.name(&line));
            let findings = &other.diagnosis.findings;
            articles(other, &findings[..findings.len().min(SHOWN_OF_OTHERS)], &mut rank, page);
        }
    });
}

/// Findings of one process, numbered from `rank` on.
fn articles(profile: &Profile, findings: &[Finding], rank: &mut usize, page: &mut Markup) {
    for finding in findings {
        let number = rank.to_string();
        let id = format!("finding-{number}");
        page.inside("article", &[("class", "finding"), ("aria-labelledby", &id)], |page| {
            head(profile, finding, (&number, &id), page);
            source(profile, finding, &number, page);
            tree(profile, finding, page);
            fact_list(profile, finding, page);
        });
        *rank += 1;
    }
}

fn head(profile: &Profile, finding: &Finding, (rank, id): (&str, &str), page: &mut Markup) {
    page.inside("div", &[("class", "finding-head")], |page| {
        page.inside("h3", &[("id", id)], |page| {
            page.element("span", &[("class", "rank")], rank);
            page.text(" ");
            page.text(&finding.title(profile));
        });
        page.inside("p", &[("class", "amount")], |page| {
            page.element("strong", &[], &amount(profile, finding));
            if let Some(share) = share_words(finding) {
                page.text(" ");
                page.element("span", &[], &share);
            }
        });
    });
}

/// The line, a few around it, and its callers.
fn source(profile: &Profile, finding: &Finding, rank: &str, page: &mut Markup) {
    let Some(frame) = finding.line(profile) else { return };
    page.inside("figure", &[("class", "source")], |page| {
        page.inside("figcaption", &[], |page| page.name(&frame_text(frame, ROOM)));
        if let (Some(file), Some(line)) = (frame.file.as_deref(), frame.line) {
            lines(&excerpt(file, line, AROUND, profile.run.started_unix), line, rank, page);
        }
    });
    let callers = call_path(profile, finding, ROOM);
    if !callers.is_empty() {
        page.inside("details", &[("class", "callers")], |page| {
            page.element("summary", &[], "Call stack");
            page.inside("ol", &[], |page| {
                callers.iter().for_each(|line| page.inside("li", &[], |page| page.name(line)));
            });
        });
    }
}

fn lines(lines: &[(u32, String)], of: u32, rank: &str, page: &mut Markup) {
    if lines.is_empty() {
        return;
    }
    let label = format!("Source of finding {rank}");
    let scrolls = [("tabindex", "0"), ("role", "region"), ("aria-label", &*label)];
    page.inside("pre", &scrolls, |page| {
        for (number, text) in lines {
            let tag = if *number == of { "mark" } else { "span" };
            page.inside(tag, &[], |page| {
                page.element("i", &[], &number.to_string());
                page.name(&cut(text, LONGEST_LINE));
                page.text("\n");
            });
        }
    });
}

/// The reference path, one step below the other.
fn tree(profile: &Profile, finding: &Finding, page: &mut Markup) {
    let HolderOf::Path(held) = finding.holder(profile) else { return };
    page.inside("figure", &[("class", "holder")], |page| {
        page.element("figcaption", &[], "Held by");
        page.inside("ol", &[], |page| steps(&held, page));
    });
}

/// The same steps as in the text.
fn steps(held: &HeldBy<'_>, page: &mut Markup) {
    for shown in reference_path::shown(&held.steps) {
        match shown {
            Shown::Step(step) => page.inside("li", &[], |page| one_step(held, step, page)),
            Shown::Folded(words) => page.inside("li", &[("class", "more")], |page| page.name(&words)),
        }
    }
}

fn one_step(held: &HeldBy<'_>, step: &PathNode, page: &mut Markup) {
    page.name(&reference_path::step_text(step));
    if step.retained.bytes.get() > 0 {
        page.inside("span", &[("class", "retained")], |page| {
            page.text("retains ");
            page.bytes(step.retained.bytes);
        });
    }
    let growing = held.growing.filter(|growing| std::ptr::eq(&held.view.nodes[growing.node as usize], step));
    if let Some([before, now]) = growing.map(|growing| growing.elements).filter(|count| *count != [0; 2]) {
        let words = format!("{} → {}", count(before), plural_count(now, "element"));
        page.element("span", &[("class", "grew")], &words);
    }
}

fn fact_list(profile: &Profile, finding: &Finding, page: &mut Markup) {
    let is_drawn = matches!(finding.holder(profile), HolderOf::Path(_));
    page.inside("dl", &[("class", "facts")], |page| {
        for (name, text) in facts(profile, finding) {
            if name == HELD_BY && is_drawn {
                continue;
            }
            let class = if name == FIX { "fix" } else { "fact" };
            page.inside("div", &[("class", class)], |page| {
                page.element("dt", &[], name);
                page.inside("dd", &[], |page| page.name(&one_line(&text)));
            });
        }
        references(finding, page);
    });
}

fn references(finding: &Finding, page: &mut Markup) {
    let known = finding.rule.references;
    if known.is_empty() {
        return;
    }
    page.inside("div", &[("class", "fact")], |page| {
        page.element("dt", &[], "see also");
        page.inside("dd", &[], |page| {
            for address in known {
                page.element("a", &[("href", address), ("rel", "noreferrer noopener")], address);
                page.text(" ");
            }
        });
    });
}
