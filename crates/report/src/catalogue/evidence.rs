//! The evidence for findings that every output shows, beside the texts of their rules. Only what was measured.

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::{CountedLine, Finding, How, Shape, Slowing, Trend};
use heaplens_analyze::profile::Layer;
use heaplens_format::Bytes;
use heaplens_format::memory::Sampling;

use super::source::source_line;

/// The mapping that a finding is about, where no hook saw its creation.
pub(crate) fn mapping(finding: &Finding) -> Option<&str> {
    let name = finding.mapping.as_deref()?;
    Some(if name.is_empty() { "anonymous, unnamed" } else { name })
}

/// What was counted for a finding: all of it, then line by line where there are several.
pub(crate) fn counted(profile: &Profile, finding: &Finding) -> Vec<(String, f64)> {
    let Some(counting) = &finding.counting else { return Vec::new() };
    let what = format!("{} per {}", counting.counter, per(profile));
    let at = |line: &CountedLine| {
        let frame = profile.line_of(line.stack)?;
        let file = frame.file.as_deref()?.rsplit('/').next()?;
        Some((format!("{what} at {file}:{}", frame.line?), line.per_iteration))
    };
    let lines: Vec<(String, f64)> = counting.lines.iter().filter_map(at).collect();
    let lines = if lines.len() > 1 { lines } else { Vec::new() };
    std::iter::once((what.clone(), counting.per_iteration)).chain(lines).collect()
}

/// The source of that line, if its file is unchanged.
pub(crate) fn source(profile: &Profile, finding: &Finding) -> Option<String> {
    let frame = finding.line(profile)?;
    source_line(frame.file.as_deref()?, frame.line?, profile.run.started_unix)
}

/// What was noted about what was counted: the first of it.
pub(crate) fn reasons<'a>(profile: &'a Profile, finding: &Finding) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let counted = || finding.counting.as_ref().map(|counting| counting.counter);
    finding
        .rule
        .noted
        .or_else(counted)
        .map_or_else(Vec::new, |counter| profile.counts.notes(counter).take(SHOWN).collect())
}

/// What was ruled out as the cause, each with the reason.
pub(crate) fn excluded(profile: &Profile, finding: &Finding) -> Vec<(String, String)> {
    let diagnosis = &profile.diagnosis;
    let is_flat = |trend: &Trend| matches!(trend.shape, Shape::Flat | Shape::Plateau);
    let own = finding.layer;
    let layers = diagnosis.layers.iter().filter(|(layer, trend)| Some(*layer) != own && is_flat(trend));
    let layers = layers
        .map(|(layer, trend)| (layer.name().to_owned(), ruled_out_reason(profile, *layer, trend).to_owned()));
    let of_rule = finding.rule.excludes.and_then(|excludes| excludes(&profile.counts));
    let mut excluded: Vec<(String, String)> = of_rule.into_iter().chain(layers).collect();
    // Resident memory that swings has no trend, and is not called flat for that.
    let swings = |trend: &Trend| trend.level > 1.05 * trend.first;
    if let Some(trend) = diagnosis
        .rss
        .as_ref()
        .filter(|trend| finding.representative.is_some() && is_flat(trend) && !swings(trend))
    {
        excluded.push(("RSS".to_owned(), shape_text(trend).to_owned()));
    }
    let others = diagnosis.lines.saturating_sub(diagnosis.findings.len());
    if diagnosis.how != How::Time && others > 0 {
        let lines = if others == 1 { "line" } else { "lines" };
        excluded.push((format!("{others} other {lines}"), "no significant growth".to_owned()));
    }
    excluded
}

/// Sampled values may grow by less than their margin.
fn ruled_out_reason(profile: &Profile, layer: Layer, trend: &Trend) -> &'static str {
    let is_sampled = match layer.row().sampling {
        Sampling::Objects => profile.object_interval.is_some_and(|interval| interval > Bytes::new(1)),
        Sampling::Heap => profile.sampled.is_some(),
        Sampling::Never => false,
    };
    if is_sampled && trend.shape == Shape::Flat { "flat within its margin" } else { shape_text(trend) }
}

fn shape_text(trend: &Trend) -> &'static str {
    if trend.shape == Shape::Plateau { "plateau" } else { "flat" }
}

/// Iterations that become slower, which is evidence for the first finding.
pub(crate) fn slowing(profile: &Profile, finding: &Finding) -> Option<Slowing> {
    let is_first = profile.diagnosis.findings.first().is_some_and(|first| std::ptr::eq(first, finding));
    profile.diagnosis.slowing.filter(|_| is_first)
}

/// The unit of growth: iteration or second.
pub(crate) fn per(profile: &Profile) -> &'static str {
    if profile.diagnosis.how == How::Time { "second" } else { "iteration" }
}
