//! What an iteration is, and the marks that have a name.

use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::How;
use heaplens_analyze::profile::NamedMark;

/// The unit of all values "per iteration".
#[derive(serde::Serialize)]
pub(super) struct IterationFields<'a> {
    count: Option<u64>,
    exact: Option<bool>,
    per: &'static str,
    how: Option<&'static str>,
    #[serde(rename = "loop")]
    place: Option<LoopFields<'a>>,
}

#[derive(serde::Serialize)]
struct LoopFields<'a> {
    file: &'a str,
    line: u32,
    function: &'a str,
    steps: Option<&'static str>,
}

pub(super) fn iterations(profile: &Profile) -> IterationFields<'_> {
    match &profile.iterations {
        Some(found) if profile.diagnosis.how != How::Marks => IterationFields {
            count: Some(found.count),
            exact: Some(found.is_exact),
            per: "iteration",
            how: Some("loop"),
            place: Some(LoopFields {
                file: &found.file,
                line: found.line,
                function: &found.function,
                steps: found.steps,
            }),
        },
        _ if profile.diagnosis.how == How::Marks => IterationFields {
            count: Some(profile.diagnosis.count),
            exact: Some(true),
            per: "iteration",
            how: Some("marks"),
            place: None,
        },
        _ => IterationFields { count: None, exact: None, per: "second", how: None, place: None },
    }
}

/// A mark of the user's, or the end of the script, which has no label.
#[derive(serde::Serialize)]
pub(super) struct MarkFields<'a> {
    label: Option<&'a str>,
    at_seconds: f64,
    live_bytes: u64,
}

pub(super) fn mark(mark: &NamedMark) -> MarkFields<'_> {
    MarkFields {
        label: mark.label.as_deref(),
        at_seconds: mark.at.get() as f64 / 1e9,
        live_bytes: mark.live.get(),
    }
}
