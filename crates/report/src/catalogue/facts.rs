//! The facts of a finding, each a label and a sentence: live memory, holders, the confidence interval, what was ruled out, the fix.

use heaplens_analyze::diagnose::{Finding, How, MeasuredBy};
use heaplens_analyze::profile::StackFrame;
use heaplens_analyze::{HolderOf, Profile};
use heaplens_format::{Bytes, Nanos};

use super::number::{count, percent, seconds, size};
use super::stack::fold;
use super::stack::location::frame_text;
use super::stack::mixed::{self, FoldedLine};
use super::verdict::bytes;
use super::wording::{amount_words, one_line, plural_count};
use super::{evidence, reference_path};

/// Lines of a stack.
const FRAMES: usize = 4;
/// What the allocator adds to the bytes that were asked for is said from this part of them on.
const LEAST_OVERHEAD: f64 = 0.05;

/// Labels of facts that other outputs show in their own way.
pub(crate) const HELD_BY: &str = "held by";

pub(crate) const FIX: &str = "fix";

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

/// All facts of a finding, each with its label; empty ones are left out.
pub(crate) fn facts(profile: &Profile, finding: &Finding) -> Vec<(&'static str, String)> {
    let mapping = evidence::mapping(finding)
        .map(|mapping| format!("{} · {}", one_line(mapping), size(finding.live.bytes)));
    let evidence = evidence::slowing(profile, finding).map(|slowing| {
        let [first, last] =
            [slowing.first, slowing.last].map(|time| seconds(Nanos::new((time * 1e9) as u64)));
        format!("iterations slow down: {first} → {last} of CPU time")
    });
    let stops = finding.stops_at().map(|level| format!("at about {} if the trend continues", size(level)));
    let fill = finding
        .fill
        .map(|fill| format!("{} of at most {} elements", count(fill.elements), count(fill.limit)));
    let (id, name) = (finding.rule.id, finding.rule.name);
    let facts = [
        ("mapping", mapping.unwrap_or_default()),
        ("threads", threads(profile, finding)),
        ("live", live(profile, finding)),
        (HELD_BY, held_by(profile, finding)),
        ("holder", why_unknown(profile, finding)),
        ("why", finding.holder_rule(profile).map_or_else(String::new, |holder| holder.words.to_owned())),
        ("kept at", kept_at(profile, finding)),
        ("rate", interval(profile, finding)),
        ("counted", counted(profile, finding)),
        ("reason", one_line(&evidence::reasons(profile, finding).join(" · "))),
        ("proof", proof(finding)),
        ("at exit", collected_at_exit(finding)),
        ("evidence", evidence.unwrap_or_default()),
        ("levels off", stops.unwrap_or_default()),
        ("limit", fill.unwrap_or_default()),
        ("ruled out", excluded(profile, finding)),
        (FIX, one_line(&finding.fix(profile))),
        ("rule", format!("{id} {name}")),
    ];
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// What the reclaim test gave back, and what a snapshot saw before.
fn proof(finding: &Finding) -> String {
    if let Some(part) = finding.overcounted.map(percent) {
        return format!(
            "a heap snapshot while it grew found that nobody holds {part} of it: the objects count more references than \
             there are pointers to them"
        );
    }
    let freed = match finding.reclaimed.map(size) {
        Some(returned) => format!("gc.collect() at exit freed {returned}"),
        None => "it was freed before exit".to_owned(),
    };
    match (finding.garbage, finding.reclaimed.map(size)) {
        (Some(garbage), _) => {
            let (part, of) =
                (percent(garbage.part), if garbage.of_objects { "its Python objects" } else { "it" });
            format!("a heap snapshot while it grew found {part} of {of} unreachable; {freed}")
        }
        (None, Some(returned)) => format!("the reclaim test recovered {returned}"),
        (None, None) => String::new(),
    }
}

/// A remark, since functions have returned when the script is through.
fn collected_at_exit(finding: &Finding) -> String {
    let Some(collected) = finding.collected_at_exit else { return String::new() };
    let freed = size(collected.freed);
    let before = match collected.was_held {
        true => "a heap snapshot found it reachable while it grew",
        false => "whether it was garbage while it grew is not known, since no heap snapshot was taken then",
    };
    format!("gc.collect() freed {freed} of it after the script's code had returned; {before}")
}

/// What libraries did with each iteration: `3.0 graph operations per iteration: 2.0 at train.py:12 · 1.0 at train.py:13`.
pub(crate) fn counted(profile: &Profile, finding: &Finding) -> String {
    let counted = evidence::counted(profile, finding);
    let Some(((all, sum), lines)) = counted.split_first() else { return String::new() };
    let line = |(what, value): &(String, f64)| {
        let at = what.strip_prefix(all.as_str()).unwrap_or(what);
        format!("{value:.1}{at}")
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    let colon = if lines.is_empty() { "" } else { ": " };
    format!("{sum:.1} {all}{colon}{}", lines.join(" · "))
}

/// What was ruled out, and why.
pub(crate) fn excluded(profile: &Profile, finding: &Finding) -> String {
    let excluded = evidence::excluded(profile, finding);
    excluded.iter().map(|(what, why)| format!("{what} ({why})")).collect::<Vec<_>>().join(" · ")
}

/// The callers of the line of a finding: the stack without that line, folded, innermost first.
pub(crate) fn call_path(profile: &Profile, finding: &Finding, room: usize) -> Vec<String> {
    let Some(representative) = finding.representative.map(|representative| &profile.sites[representative])
    else {
        return Vec::new();
    };
    let Some(line) = profile.line(representative) else { return Vec::new() };
    let stack: Vec<&StackFrame> = profile.stack(representative).collect();
    let lines = match profile.python_line(representative) {
        Some(line) => mixed::fold(&stack, line, FRAMES),
        None => fold::fold(&stack, FRAMES).frames.into_iter().map(FoldedLine::Frame).collect(),
    };
    let is_other =
        |other: &&FoldedLine<'_>| !matches!(other, FoldedLine::Frame(frame) if std::ptr::eq(*frame, line));
    let words = |other: &FoldedLine<'_>| match other {
        FoldedLine::Frame(frame) => frame_text(frame, room),
        FoldedLine::Words(words) => one_line(words),
    };
    lines.iter().filter(is_other).map(words).collect()
}

/// `200 at the last iteration · 1.0 more per iteration · still running`.
pub(crate) fn threads(profile: &Profile, finding: &Finding) -> String {
    let Some(threads) = finding.threads else { return String::new() };
    let when = if profile.diagnosis.how == How::Time { "in total" } else { "at the last iteration" };
    let (pace, per) = (threads.per_iteration, evidence::per(profile));
    let state = if threads.have_ended { "exited" } else { "still running" };
    format!("{} {when} · {pace:.1} more per {per} · {state}", count(threads.count))
}

pub(crate) fn live(profile: &Profile, finding: &Finding) -> String {
    if finding.representative.is_none() || finding.threads.is_some() {
        return String::new();
    }
    let live = finding.live;
    let when = match profile.diagnosis.how {
        How::Time => "at the last measurement",
        How::Loop | How::Marks if 2 * finding.held.bytes.get() < live.bytes.get() => {
            "while growing, freed later"
        }
        How::Loop | How::Marks => "at the last iteration",
    };
    let blocks = plural_count(live.blocks, "block");
    let margin = finding.held.margin.filter(|margin| margin.bytes > Bytes::ZERO);
    let margin = margin.map_or_else(String::new, |margin| format!(" ± {}", size(margin.bytes)));
    let pace = finding.blocks_per_iteration.filter(|blocks| *blocks > 0.0);
    let pace = pace
        .map_or_else(String::new, |blocks| format!(" · {} per {}", rounded(blocks), evidence::per(profile)));
    format!("{}{margin} in {blocks} {when}{pace}{}", size(live.bytes), overhead(profile, finding))
}

/// ` · malloc adds 16.1 KiB per iteration`, where that is a part of the growth that matters.
fn overhead(profile: &Profile, finding: &Finding) -> String {
    let matters = finding.overhead >= LEAST_OVERHEAD * finding.trend.slope.value.max(1.0);
    let words = || format!(" · malloc adds {} per {}", size(bytes(finding.overhead)), evidence::per(profile));
    if matters { words() } else { String::new() }
}

/// `module __main__ → results (list) → [812] EagerTensor · 400 → 812 elements`.
fn held_by(profile: &Profile, finding: &Finding) -> String {
    let held = match finding.holder(profile) {
        HolderOf::Registry(steps) => return steps.join(" → "),
        HolderOf::Nothing(lost) => {
            return format!("nothing: {} lost, no pointers to them remain", amount_words(lost));
        }
        HolderOf::Unknown(_) => return String::new(),
        HolderOf::Path(held) => held,
    };
    let mut words = vec![one_line(&reference_path::path_text(&held.steps))];
    if let Some([before, now]) = held.growing.map(|growing| growing.elements).filter(|count| *count != [0; 2])
    {
        words.push(format!("{} → {}", count(before), plural_count(now, "element")));
    }
    if held.alike < held.inspected {
        words.push(format!(
            "{} of {} inspected blocks",
            count(held.alike.into()),
            count(held.inspected.into())
        ));
    }
    words.join(" · ")
}

/// `train.py:8 allocates what holds them. …`
fn kept_at(profile: &Profile, finding: &Finding) -> String {
    let Some(line) = profile.container_line(finding) else { return String::new() };
    let file = line.file.as_deref().and_then(|file| file.rsplit('/').next()).unwrap_or("?");
    let number = line.line.map_or_else(String::new, |number| format!(":{number}"));
    format!(
        "{} allocates what holds them. CPython reuses freed dict, float, list and tuple objects, and they count where they \
         were first allocated: check both lines",
        one_line(&format!("{file}{number}"))
    )
}

/// Why no holder is named, where that is known.
fn why_unknown(profile: &Profile, finding: &Finding) -> String {
    match finding.holder(profile) {
        HolderOf::Unknown(Some(why)) => format!("not known: {}", one_line(&why)),
        _ => String::new(),
    }
}

/// The confidence interval of the slope, unless it is within 2 %.
pub(crate) fn interval(profile: &Profile, finding: &Finding) -> String {
    let slope = finding.trend.slope;
    if finding.rule.measured_by == MeasuredBy::Reclaimed || slope.high - slope.low <= 0.02 * slope.value {
        return String::new();
    }
    let (low, high) = (size(bytes(slope.low)), size(bytes(slope.high)));
    format!("{low} to {high} per {} (95 % confidence interval)", evidence::per(profile))
}

fn rounded(blocks: f64) -> String {
    match blocks {
        ..9.95 => format!("{blocks:.1} blocks"),
        _ => format!("{} blocks", count(blocks.round() as u64)),
    }
}
