//! The verdict in one line: resident memory, whether and how fast it grows, and whether that is a leak.

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::{Ending, Finding, How, Outcome, Shape, Trend, Verdict};
use heaplens_format::Bytes;
use heaplens_format::recording::LeakKind;

use super::evidence;
use super::number::size;
use super::process::subject;
use super::stack::location::location;
use super::wording::{amount_words, plural_count};

/// `8 workers, each RSS 0.51 GiB → 1.98 GiB, growing by 1.50 MiB per iteration`; the command's own process is not named.
pub(crate) fn tree_verdict_line(profile: &Profile, verdict: Verdict) -> String {
    format!("{}{}", subject(profile), verdict_line(profile, verdict))
}

/// `RSS 0.51 GiB → 1.98 GiB, growing by 1.50 MiB per iteration`.
pub(crate) fn verdict_line(profile: &Profile, verdict: Verdict) -> String {
    let parts = [resident(profile), Some(judgement(profile, verdict))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `RSS 0.51 GiB → 1.98 GiB`.
pub(crate) fn resident(profile: &Profile) -> Option<String> {
    let rss = profile.diagnosis.rss.filter(|trend| trend.level > 0.0);
    match (rss, profile.rss) {
        (Some(trend), _) => Some(match [trend.first, trend.level].map(|value| size(bytes(value))) {
            [first, level] if first == level => format!("RSS {level}"),
            [first, level] => format!("RSS {first} → {level}"),
        }),
        (None, Some(rss)) => Some(format!("RSS {}", size(rss.end))),
        (None, None) => None,
    }
}

/// The judgement.
pub(crate) fn judgement(profile: &Profile, verdict: Verdict) -> String {
    let diagnosis = &profile.diagnosis;
    match verdict {
        Verdict::Leak => format!("{} with no sign of stopping", growing(profile)),
        Verdict::GrowthUnexplained => format!("{}, unexplained", growing(profile)),
        Verdict::Growth => bounded_growth(profile),
        Verdict::Lost => {
            let lost = profile.lost(LeakKind::DefinitelyLost);
            format!("no growth, but {} definitely lost", amount_words(lost))
        }
        Verdict::Plateau => stopped(profile),
        Verdict::Clean if diagnosis.how == How::Time => match is_flat(profile) {
            true => "no steady growth (no loop found, judged over time)".to_owned(),
            false => "growth not judged (no loop found)".to_owned(),
        },
        Verdict::Clean => format!("{} in {}", no_growth(profile), plural_count(diagnosis.count, "iteration")),
        Verdict::TooShort => too_short(profile),
    }
}

/// `reached a plateau: shop/rates.py:12 holds 24.0 MiB`.
fn stopped(profile: &Profile) -> String {
    let owner = profile.diagnosis.plateau.and_then(|plateau| {
        let line = profile.line(&profile.sites[plateau.representative])?;
        Some(format!(": {} holds {}", location(line)?, size(plateau.level)))
    });
    format!("reached a plateau{}", owner.unwrap_or_default())
}

/// Whether the time series shows no growth. A short one, or a rise that was not judged, shows nothing.
fn is_flat(profile: &Profile) -> bool {
    let is_flat_trend = |trend: Trend| matches!(trend.shape, Shape::Flat | Shape::Plateau);
    profile.diagnosis.live.is_some_and(is_flat_trend) && profile.diagnosis.rss.is_none_or(is_flat_trend)
}

/// Growth that is no leak, in the words of the first finding.
fn bounded_growth(profile: &Profile) -> String {
    match profile.diagnosis.findings.first().map(|finding| finding.rule.outcome) {
        Some(Outcome::Ends(Ending::Instead(words))) => words.to_owned(),
        Some(Outcome::Ends(Ending::After(words))) => format!("{}{words}", growing(profile)),
        Some(Outcome::Leak | Outcome::Unexplained) | None => growing(profile),
    }
}

/// What grows: resident memory where that is known, else what the findings say. Memory that is retained may have room in pages that are
/// resident already: then nothing that a user can measure grows yet.
fn growing(profile: &Profile) -> String {
    let diagnosis = &profile.diagnosis;
    let sum = || pace(profile, &diagnosis.findings);
    match diagnosis.rss {
        Some(trend) if trend.shape == Shape::Linear => format!("growing by {}", rate(profile, &trend)),
        Some(trend) if is_steady(&trend) => format!("steady so far, but {} are retained", sum()),
        _ => format!("live memory growing by {}", sum()),
    }
}

/// Beside resident memory that is higher at its end: it rose once at the beginning, goes up and down, or is not live.
fn no_growth(profile: &Profile) -> &'static str {
    match profile.diagnosis.rss.filter(|trend| !is_steady(trend) && trend.shape != Shape::TooShort) {
        // Where what grew was found, there is another verdict: this is free memory, or garbage.
        Some(trend) if trend.shape == Shape::Linear => {
            "which free memory of the allocator and garbage account for, no growth of live memory"
        }
        Some(trend) if trend.rise >= 0.5 * (trend.level - trend.first) => {
            "rose at the beginning, no growth since"
        }
        Some(_) => "varies, no steady growth",
        None => "no growth",
    }
}

/// Whether resident memory is at its end what it was at its beginning, as far as it matters.
fn is_steady(rss: &Trend) -> bool {
    const LEAST: f64 = (1 << 20) as f64;
    rss.shape != Shape::TooShort && rss.level - rss.first < LEAST.max(0.01 * rss.level)
}

/// What findings grow by together.
fn pace(profile: &Profile, findings: &[Finding]) -> String {
    let sum: f64 = findings.iter().map(|finding| finding.trend.slope.value).sum();
    format!("{} per {}", size(bytes(sum)), evidence::per(profile))
}

/// The line for what is too small to matter; `None` where there is nothing.
pub(crate) fn below_floor(profile: &Profile) -> Option<String> {
    let below = &profile.diagnosis.below_floor;
    let grows = below.first().map(|first| {
        let at = first.line(profile).and_then(location).map_or_else(String::new, |at| format!(" at {at}"));
        let others = below.len() - 1;
        let and = if others > 0 {
            format!(" and {}", plural_count(others as u64, "other line"))
        } else {
            String::new()
        };
        format!("{}{at}{and}", pace(profile, below))
    });
    let lost = profile.lost_below_floor();
    let lost = lost.map(|lost| format!("{} lost by libraries", amount_words(lost)));
    let parts: Vec<String> = grows.into_iter().chain(lost).collect();
    (!parts.is_empty()).then(|| format!("below the floor: {} (--floor 0 reports it)", parts.join(", ")))
}

fn too_short(profile: &Profile) -> String {
    let enough = profile.diagnosis.enough.unwrap_or_default();
    match profile.diagnosis.how {
        How::Time => format!("too short to detect growth: {} needed", plural_count(enough, "second")),
        How::Loop | How::Marks => {
            let count = plural_count(profile.diagnosis.count, "iteration");
            format!("too short to detect growth: {count}, {enough} needed")
        }
    }
}

/// `1.50 MiB per iteration`.
pub(crate) fn rate(profile: &Profile, trend: &Trend) -> String {
    format!("{} per {}", size(bytes(trend.slope.value)), evidence::per(profile))
}

pub(crate) fn bytes(value: f64) -> Bytes {
    Bytes::new(value.max(0.0).round() as u64)
}
