//! What grows: the slopes of resident memory, and the findings.

use std::borrow::Cow;

use heaplens_analyze::diagnose::{Finding, Shape, Verdict};
use heaplens_analyze::profile::SiteProfile;
use heaplens_analyze::{HolderOf, Profile, Remark};

use super::{FrameFields, frame};
use crate::catalogue::evidence;

#[derive(serde::Serialize)]
pub(super) struct RssFields {
    start: u64,
    end: u64,
    peak: u64,
    bytes_per_iteration: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    shape: Option<&'static str>,
}

pub(super) fn rss(profile: &Profile) -> Option<RssFields> {
    let trend = profile.diagnosis.rss;
    let slope = trend.filter(|trend| trend.shape != Shape::TooShort).map(|trend| trend.slope);
    profile.rss.map(|rss| RssFields {
        start: rss.start.get(),
        end: rss.end.get(),
        peak: rss.peak.get(),
        bytes_per_iteration: slope.map(|slope| slope.value),
        low: slope.map(|slope| slope.low),
        high: slope.map(|slope| slope.high),
        shape: trend.map(|trend| trend.shape.name()),
    })
}

/// The plateau, where that is the verdict.
#[derive(serde::Serialize)]
pub(super) struct PlateauFields<'a> {
    rule: &'static str,
    name: &'static str,
    rise_bytes: u64,
    live_bytes: u64,
    location: Option<FrameFields<'a>>,
}

pub(super) fn plateau(profile: &Profile) -> Option<PlateauFields<'_>> {
    let plateau = profile.diagnosis.plateau.filter(|_| profile.verdict() == Some(Verdict::Plateau))?;
    Some(PlateauFields {
        rule: plateau.rule.id,
        name: plateau.rule.name,
        rise_bytes: plateau.rise.get(),
        live_bytes: plateau.level.get(),
        location: profile.line(&profile.sites[plateau.representative]).map(frame),
    })
}

#[derive(serde::Serialize)]
pub(super) struct FindingFields<'a> {
    rule: &'static str,
    name: &'static str,
    verdict: Cow<'static, str>,
    layer: Option<&'static str>,
    bytes_per_iteration: f64,
    low: f64,
    high: f64,
    shape: &'static str,
    share_of_growth: Option<f64>,
    live_bytes: u64,
    live_blocks: u64,
    location: Option<LocationFields<'a>>,
    /// The name of a mapping whose creation no hook saw.
    mapping: Option<&'a str>,
    stack: Vec<FrameFields<'a>>,
    holder: Option<HolderFields>,
    /// The line that allocates what holds objects which the interpreter may have reused; absent where that is not so.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_at: Option<FrameFields<'a>>,
    /// Why no holder is named; `null` where one is, or where there can be none.
    holder_unknown: Option<String>,
    evidence: Vec<EvidenceFields>,
    /// What was noted about it in words, such as the argument that changed.
    reasons: Vec<&'a str>,
    excluded: Vec<ExcludedFields>,
    fix: Cow<'static, str>,
    references: &'static [&'static str],
}

#[derive(serde::Serialize)]
struct LocationFields<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    source: Option<String>,
}

/// Who holds what grows.
#[derive(serde::Serialize)]
struct HolderFields {
    path: Vec<String>,
    /// The largest retained size on the path; `null` where that is not known.
    retained_bytes: Option<u64>,
    /// Blocks that were inspected; 0 where the holder is a registry that is known by what was counted.
    looked_at: u32,
    alike: u32,
    /// Elements of the container that grew, in the previous snapshot and in this one.
    elements: Option<[u64; 2]>,
    /// The known holder that the path leads through; `null` where it is none.
    known: Option<KnownHolderFields>,
}

/// A row of the table of holders.
#[derive(serde::Serialize)]
struct KnownHolderFields {
    rule: &'static str,
    name: &'static str,
    why: &'static str,
}

#[derive(serde::Serialize)]
struct EvidenceFields {
    what: String,
    value: f64,
}

#[derive(serde::Serialize)]
struct ExcludedFields {
    what: String,
    why: String,
}

/// `None` where nothing was recorded.
pub(super) fn findings(profile: &Profile) -> Option<Vec<FindingFields<'_>>> {
    profile
        .diagnosis
        .verdict
        .map(|_| profile.diagnosis.findings.iter().map(|one| finding(profile, one)).collect())
}

/// What grows too little to matter; `None` where nothing was recorded.
pub(super) fn below_floor(profile: &Profile) -> Option<Vec<FindingFields<'_>>> {
    let below = profile.diagnosis.below_floor.iter();
    profile.diagnosis.verdict.map(|_| below.map(|one| finding(profile, one)).collect())
}

fn finding<'a>(profile: &'a Profile, finding: &'a Finding) -> FindingFields<'a> {
    let representative: Option<&SiteProfile> =
        finding.representative.map(|representative| &profile.sites[representative]);
    let slope = finding.trend.slope;
    FindingFields {
        rule: finding.rule.id,
        name: finding.rule.name,
        verdict: finding.verdict(profile),
        layer: finding.layer_name(),
        bytes_per_iteration: slope.value,
        low: slope.low,
        high: slope.high,
        shape: finding.trend.shape.name(),
        share_of_growth: finding.share,
        live_bytes: finding.live.bytes.get(),
        live_blocks: finding.live.blocks,
        location: location(profile, finding),
        mapping: mapping(finding),
        stack: representative.map_or_else(Vec::new, |site| profile.stack(site).map(frame).collect()),
        holder: holder(profile, finding),
        kept_at: profile.container_line(finding).map(frame),
        holder_unknown: match finding.holder(profile) {
            HolderOf::Unknown(why) => why,
            _ => None,
        },
        evidence: evidence(profile, finding),
        reasons: evidence::reasons(profile, finding),
        excluded: excluded(profile, finding),
        fix: finding.fix(profile),
        references: finding.rule.references,
    }
}

/// The name of the mapping; scripts may compare the one that stands for a mapping without a name.
fn mapping(finding: &Finding) -> Option<&str> {
    let name = finding.mapping.as_deref()?;
    Some(if name.is_empty() { "anonymous, without a name" } else { name })
}

fn location<'a>(profile: &'a Profile, finding: &Finding) -> Option<LocationFields<'a>> {
    finding.line(profile).map(|frame| LocationFields {
        file: frame.file.as_deref().or(frame.module.as_deref()),
        line: frame.line,
        function: frame.function.as_deref(),
        source: evidence::source(profile, finding),
    })
}

/// A remark of a framework's rules about the run.
#[derive(serde::Serialize)]
pub(super) struct RemarkFields<'a> {
    when: String,
    /// The line that it is about.
    location: Option<FrameFields<'a>>,
}

pub(super) fn remark(profile: &Profile, remark: Remark) -> RemarkFields<'_> {
    let line = remark.stack.and_then(|stack| profile.line_of(stack));
    RemarkFields { when: remark.when, location: line.map(frame) }
}

fn holder(profile: &Profile, finding: &Finding) -> Option<HolderFields> {
    let held = match finding.holder(profile) {
        HolderOf::Registry(steps) => {
            let path = steps.iter().map(|&step| step.to_owned()).collect();
            let (retained_bytes, looked_at, alike) = (None, 0, 0);
            return Some(HolderFields {
                path,
                retained_bytes,
                looked_at,
                alike,
                elements: None,
                known: None,
            });
        }
        HolderOf::Path(held) => held,
        // What held it while it grew, such as a variable of a function that has returned since.
        HolderOf::Nothing(_) => profile.held_by(finding)?,
        HolderOf::Unknown(_) => return None,
    };
    let retained = held.steps.iter().map(|step| step.retained.bytes.get()).max();
    Some(HolderFields {
        path: held.steps.iter().map(|step| crate::catalogue::reference_path::step_text(step)).collect(),
        retained_bytes: retained.filter(|&bytes| bytes > 0),
        looked_at: held.inspected,
        alike: held.alike,
        elements: held.growing.map(|growing| growing.elements).filter(|count| *count != [0; 2]),
        known: finding.holder_rule(profile).map(|holder| KnownHolderFields {
            rule: holder.id,
            name: holder.name,
            why: holder.words,
        }),
    })
}

fn evidence(profile: &Profile, finding: &Finding) -> Vec<EvidenceFields> {
    let slowing = evidence::slowing(profile, finding);
    let lost = Some(profile.lost_of(finding).bytes.get()).filter(|&bytes| bytes > 0);
    let known =
        |what: &str, value: Option<f64>| value.map(|value| EvidenceFields { what: what.into(), value });
    let counted = evidence::counted(profile, finding).into_iter();
    let counted = counted.map(|(what, value)| EvidenceFields { what, value });
    let others = [
        known("blocks per iteration", finding.blocks_per_iteration),
        known(
            "bytes per iteration that the allocator adds",
            Some(finding.overhead).filter(|&bytes| bytes > 0.0),
        ),
        known("stacks that meet in this line", finding.representative.map(|_| finding.sites.len() as f64)),
        known("threads per iteration", finding.threads.map(|threads| threads.per_iteration)),
        known("threads whose stacks are left", finding.threads.map(|threads| threads.count as f64)),
        known("bytes that came back when asked for", finding.reclaimed.map(|bytes| bytes.get() as f64)),
        known(
            match finding.garbage {
                Some(garbage) if garbage.of_objects => {
                    "part of its Python objects that was garbage while it grew"
                }
                _ => "part that was garbage while it grew",
            },
            finding.garbage.map(|garbage| garbage.part),
        ),
        known("part that nobody held while it grew", finding.overcounted),
        known(
            "bytes that a collection freed at exit",
            finding.collected_at_exit.map(|collected| collected.freed.get() as f64),
        ),
        known("bytes that no pointer leads to at the end", lost.map(|bytes| bytes as f64)),
        known("CPU seconds per iteration at first", slowing.map(|slowing| slowing.first)),
        known("CPU seconds per iteration at last", slowing.map(|slowing| slowing.last)),
        known("elements of the container", finding.fill.map(|fill| fill.elements as f64)),
        known("elements that the container has at most", finding.fill.map(|fill| fill.limit as f64)),
        known("bytes at which it will stop", finding.stops_at().map(|bytes| bytes.get() as f64)),
    ];
    counted.chain(others.into_iter().flatten()).collect()
}

fn excluded(profile: &Profile, finding: &Finding) -> Vec<ExcludedFields> {
    let excluded = evidence::excluded(profile, finding).into_iter();
    excluded.map(|(what, why)| ExcludedFields { what, why }).collect()
}
