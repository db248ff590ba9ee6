//! The first lines of the page: the verdict, and what grows.

use std::io;

use heaplens_analyze::diagnose::{Ending, Finding, How, MeasuredBy, Outcome, Shape, Trend, Verdict};
use heaplens_analyze::profile::StackFrame;
use heaplens_analyze::{Profile, remarks};
use heaplens_format::recording::LeakKind;
use heaplens_format::{Bytes, Nanos};

use super::{Page, amount_words, one_line, plural_count, wrapped};
use crate::catalogue::number::{count, percent, seconds, size};
use crate::catalogue::stack::fold;
use crate::catalogue::stack::location::{location, place};
use crate::catalogue::stack::mixed::{self, Line};
use crate::catalogue::{evidence, reference_path};

/// Findings that are told at length.
const SHOWN: usize = 4;
/// Lines of a stack.
const FRAMES: usize = 4;
/// Where the words of a finding begin.
const INDENT: usize = 16;
/// Where a title ends, at most.
const TITLE: usize = 66;

/// Words before facts that other outputs show in their own way.
pub(crate) const HELD_BY: &str = "held by";
pub(crate) const FIX: &str = "fix";

/// Writes the verdict and the findings.
pub(super) fn write(profile: &Profile, page: &mut Page<'_>) -> io::Result<()> {
    let Some(verdict) = profile.verdict() else { return Ok(()) };
    page.line("")?;
    page.emphasised("  ", &verdict_line(profile, verdict))?;
    for remark in remarks(profile).filter_map(|(_, remark)| remark) {
        page.wrapped("  ", &one_line(&remark.text))?;
    }
    let findings = &profile.growth.findings;
    for (rank, finding) in (1..).zip(findings.iter().take(SHOWN)) {
        page.line("")?;
        write_finding(profile, page, rank, finding)?;
    }
    match findings.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => {
            page.line("")?;
            page.line(&format!("     {} more, in the JSON report", plural_count(more as u64, "finding")))
        }
    }
}

/// `RSS 0.51 GiB → 1.98 GiB, growing 1.50 MiB per iteration`.
pub(super) fn verdict_line(profile: &Profile, verdict: Verdict) -> String {
    let parts = [resident(profile), Some(judgement(profile, verdict))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `RSS 0.51 GiB → 1.98 GiB`.
pub(crate) fn resident(profile: &Profile) -> Option<String> {
    let rss = profile.growth.rss.filter(|trend| trend.level > 0.0);
    match (rss, profile.rss) {
        (Some(trend), _) => Some(match [trend.first, trend.level].map(|value| size(bytes(value))) {
            [first, level] if first == level => format!("RSS {level}"),
            [first, level] => format!("RSS {first} → {level}"),
        }),
        (None, Some(rss)) => Some(format!("RSS {}", size(rss.end))),
        (None, None) => None,
    }
}

/// What is thought of it.
pub(crate) fn judgement(profile: &Profile, verdict: Verdict) -> String {
    let growth = &profile.growth;
    match verdict {
        Verdict::Leak => format!("{} and not stopping", growing(profile)),
        Verdict::GrowthUnexplained => format!("{}, unexplained", growing(profile)),
        Verdict::Growth => of_a_reason(profile),
        Verdict::Lost => {
            let lost = profile.lost(LeakKind::DefinitelyLost);
            format!("no growth, but {} lost", amount_words(lost))
        }
        Verdict::Plateau => stopped(profile),
        Verdict::Clean if growth.how == How::Time => match stands_still(profile) {
            true => "no loop to judge by, and no steady growth".to_owned(),
            false => "no loop to judge growth by".to_owned(),
        },
        Verdict::Clean => format!("no growth in {}", plural_count(growth.count, "iteration")),
        Verdict::TooShort => too_short(profile),
    }
}

/// `grew and stopped: shop/rates.py:12 keeps 24.0 MiB`.
fn stopped(profile: &Profile) -> String {
    let owner = profile.growth.plateau.and_then(|plateau| {
        let line = profile.line(&profile.sites[plateau.representative])?;
        Some(format!(": {} keeps {}", location(line)?, size(plateau.level)))
    });
    format!("grew and stopped{}", owner.unwrap_or_default())
}

/// Whether the readings over time say that nothing grows. Few of them, or a rise that was not judged, say nothing.
fn stands_still(profile: &Profile) -> bool {
    let stands = |trend: Trend| matches!(trend.shape, Shape::Flat | Shape::Plateau);
    profile.growth.live.is_some_and(stands) && profile.growth.rss.is_none_or(stands)
}

/// Growth that is no leak, by the reason of the first finding.
fn of_a_reason(profile: &Profile) -> String {
    match profile.growth.findings.first().map(|finding| finding.rule.outcome) {
        Some(Outcome::Ends(Ending::Instead(words))) => words.to_owned(),
        Some(Outcome::Ends(Ending::After(words))) => format!("{}{words}", growing(profile)),
        Some(Outcome::Leak | Outcome::Unexplained) | None => growing(profile),
    }
}

/// What grows: resident memory where that is known, else what the findings say.
fn growing(profile: &Profile) -> String {
    let growth = &profile.growth;
    match growth.rss.filter(|trend| trend.shape == Shape::Linear) {
        Some(trend) => format!("growing {}", rate(profile, &trend)),
        None => {
            let sum: f64 = growth.findings.iter().map(|finding| finding.trend.slope.value).sum();
            format!("live memory growing {} per {}", size(bytes(sum)), evidence::per(profile))
        }
    }
}

fn too_short(profile: &Profile) -> String {
    let enough = profile.growth.enough.unwrap_or_default();
    match profile.growth.how {
        How::Time => format!("too short to tell growth: {} would do", plural_count(enough, "second")),
        How::Loop | How::Marks => {
            let count = plural_count(profile.growth.count, "iteration");
            format!("too short to tell growth by {count}: {enough} would do")
        }
    }
}

/// `1.50 MiB per iteration`.
pub(super) fn rate(profile: &Profile, trend: &Trend) -> String {
    format!("{} per {}", size(bytes(trend.slope.value)), evidence::per(profile))
}

fn write_finding(profile: &Profile, page: &mut Page<'_>, rank: usize, finding: &Finding) -> io::Result<()> {
    let share = share_words(finding).map_or_else(String::new, |share| format!("   {share}"));
    let (title, per) = (finding.title(profile), amount(profile, finding));
    page.emphasised(
        &format!("  {rank}  "),
        &format!("{title:<TITLE$}{per:>22}{share}", TITLE = TITLE.saturating_sub(5)),
    )?;
    where_it_is(profile, page, finding)?;
    facts(profile, finding).iter().try_for_each(|(name, text)| named(page, name, text))
}

/// `99 % of the growth`.
pub(crate) fn share_words(finding: &Finding) -> Option<String> {
    finding.share.map(|share| format!("{} of the growth", percent(share)))
}

/// `1.48 MiB/iteration`.
pub(crate) fn amount(profile: &Profile, finding: &Finding) -> String {
    match finding.reclaimed.filter(|_| finding.rule.measured_by == MeasuredBy::Reclaimed) {
        Some(free) => format!("{} free", size(free)),
        None => format!("{}/{}", size(bytes(finding.trend.slope.value)), evidence::per(profile)),
    }
}

/// What is said of a finding, each with the word before it; what has nothing to say is left out.
pub(crate) fn facts(profile: &Profile, finding: &Finding) -> Vec<(&'static str, String)> {
    let mapping = evidence::mapping(finding)
        .map(|mapping| format!("{} · {}", one_line(mapping), size(finding.live.bytes)));
    let proof =
        finding.reclaimed.map(|returned| format!("{} came back when it was asked for", size(returned)));
    let evidence = evidence::slowing(profile, finding).map(|slowing| {
        let [first, last] =
            [slowing.first, slowing.last].map(|time| seconds(Nanos::new((time * 1e9) as u64)));
        format!("iterations slow down: {first} → {last}")
    });
    let stops = finding.stops_at().map(|level| format!("near {} if it goes on like that", size(level)));
    let (id, name) = (finding.rule.id, finding.rule.name);
    let facts = [
        ("mapping", mapping.unwrap_or_default()),
        ("threads", threads(profile, finding)),
        ("live", live(profile, finding)),
        (HELD_BY, held_by(profile, finding)),
        ("bound", bound(profile, finding)),
        ("counted", counted(profile, finding)),
        ("reason", one_line(&evidence::reasons(profile, finding).join(" · "))),
        ("proof", proof.unwrap_or_default()),
        ("evidence", evidence.unwrap_or_default()),
        ("will stop", stops.unwrap_or_default()),
        ("not it", excluded(profile, finding)),
        (FIX, finding.fix(profile).to_owned()),
        ("rule", format!("{id} {name}")),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// The line with its source, and how the program came there.
fn where_it_is(profile: &Profile, page: &mut Page<'_>, finding: &Finding) -> io::Result<()> {
    let room = page.options.width.saturating_sub(INDENT);
    let Some(line) = finding.representative.and_then(|_| finding.line(profile)) else { return Ok(()) };
    page.line(&format!("         {}", place(line, room)))?;
    if let Some(source) = evidence::source(profile, finding) {
        page.line(&format!("             {}", one_line(&source)))?;
    }
    for (at, text) in way_there(profile, finding, room).iter().enumerate() {
        let name = if at == 0 { "stack" } else { "" };
        page.line(&format!("     {name:<11}{text}"))?;
    }
    Ok(())
}

/// What libraries did with each iteration: `3.0 graph operations per iteration: 2.0 at train.py:12 · 1.0 at train.py:13`.
pub(super) fn counted(profile: &Profile, finding: &Finding) -> String {
    let counted = evidence::counted(profile, finding);
    let Some(((all, sum), lines)) = counted.split_first() else { return String::new() };
    let line = |(what, value): &(String, f64)| {
        let place = what.strip_prefix(all.as_str()).unwrap_or(what);
        format!("{value:.1}{place}")
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    let colon = if lines.is_empty() { "" } else { ": " };
    format!("{sum:.1} {all}{colon}{}", lines.join(" · "))
}

/// What it is not, and why.
pub(super) fn excluded(profile: &Profile, finding: &Finding) -> String {
    let excluded = evidence::excluded(profile, finding);
    excluded.iter().map(|(what, why)| format!("{what} ({why})")).collect::<Vec<_>>().join(" · ")
}

/// How the program came to the line of a finding: the stack without that line, folded, innermost first.
pub(crate) fn way_there(profile: &Profile, finding: &Finding, room: usize) -> Vec<String> {
    let Some(representative) = finding.representative.map(|representative| &profile.sites[representative])
    else {
        return Vec::new();
    };
    let Some(line) = profile.line(representative) else { return Vec::new() };
    let stack: Vec<&StackFrame> = profile.stack(representative).collect();
    let lines = match profile.python_line(representative) {
        Some(line) => mixed::fold(&stack, line, FRAMES),
        None => fold::fold(&stack, FRAMES).frames.into_iter().map(Line::Frame).collect(),
    };
    let is_other = |other: &&Line<'_>| !matches!(other, Line::Frame(frame) if std::ptr::eq(*frame, line));
    let words = |other: &Line<'_>| match other {
        Line::Frame(frame) => place(frame, room),
        Line::Words(words) => one_line(words),
    };
    lines.iter().filter(is_other).map(words).collect()
}

/// `200 at the last iteration · 1.0 more per iteration · they run`.
pub(super) fn threads(profile: &Profile, finding: &Finding) -> String {
    let Some(threads) = finding.threads else { return String::new() };
    let when = if profile.growth.how == How::Time { "of them" } else { "at the last iteration" };
    let (pace, per) = (threads.per_iteration, evidence::per(profile));
    let state = if threads.have_ended { "they have ended" } else { "they run" };
    format!("{} {when} · {pace:.1} more per {per} · {state}", count(threads.count))
}

pub(super) fn live(profile: &Profile, finding: &Finding) -> String {
    if finding.representative.is_none() || finding.threads.is_some() {
        return String::new();
    }
    let live = finding.live;
    let when = match profile.growth.how {
        How::Time => "at the last reading",
        How::Loop | How::Marks if 2 * finding.held.bytes.get() < live.bytes.get() => {
            "while it grew, given back later"
        }
        How::Loop | How::Marks => "at the last iteration",
    };
    let blocks = plural_count(live.blocks, "block");
    let margin = finding.held.margin.filter(|margin| margin.bytes > Bytes::ZERO);
    let margin = margin.map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
    let pace = finding.blocks_per_iteration.filter(|blocks| *blocks > 0.0);
    let pace = pace
        .map_or_else(String::new, |blocks| format!(" · {} per {}", rounded(blocks), evidence::per(profile)));
    format!("{}{margin} in {blocks} {when}{pace}", size(live.bytes))
}

/// `module __main__ → results (list) → [812] EagerTensor · 400 elements, then 812`.
fn held_by(profile: &Profile, finding: &Finding) -> String {
    if !finding.rule.holder.is_empty() {
        return finding.rule.holder.join(" → ");
    }
    let lost = profile.lost_of(finding);
    if 2 * lost.bytes.get() >= finding.held.bytes.get().max(1) {
        return format!("nothing: {} lost, no pointer to them is left", amount_words(lost));
    }
    let Some(held) = profile.held_by(finding) else { return String::new() };
    let mut words = vec![one_line(&reference_path::way(&held.steps))];
    if let Some([before, now]) = held.growing.map(|growing| growing.elements).filter(|count| *count != [0; 2])
    {
        words.push(format!("{}, then {}", plural_count(before, "element"), count(now)));
    }
    if held.alike < held.looked_at {
        words.push(format!(
            "{} of {} that were looked at",
            count(held.alike.into()),
            count(held.looked_at.into())
        ));
    }
    words.join(" · ")
}

/// How sure the slope is, where that is less than sure.
pub(super) fn bound(profile: &Profile, finding: &Finding) -> String {
    let slope = finding.trend.slope;
    if finding.rule.measured_by == MeasuredBy::Reclaimed || slope.high - slope.low <= 0.02 * slope.value {
        return String::new();
    }
    let (low, high) = (size(bytes(slope.low)), size(bytes(slope.high)));
    format!("{low} to {high} per {} in 95 of 100 runs", evidence::per(profile))
}

fn named(page: &mut Page<'_>, name: &str, text: &str) -> io::Result<()> {
    let room = page.options.width.saturating_sub(INDENT);
    for (at, line) in wrapped(text, room).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        page.line(&format!("     {name:<11}{line}"))?;
    }
    Ok(())
}

fn rounded(blocks: f64) -> String {
    match blocks {
        ..9.95 => format!("{blocks:.1} blocks"),
        _ => format!("{} blocks", count(blocks.round() as u64)),
    }
}

fn bytes(value: f64) -> Bytes {
    Bytes::new(value.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_broken() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("overlong word", 3), ["overlong", "word"]);
        assert!(wrapped("", 9).is_empty());
    }
}
