//! What became of a graph that was finalized for the user (`--finalize-graph`).

use super::counters::FINALIZED_GRAPH_GREW;
use crate::profile::{Profile, StackId};
use crate::remarks::{Remark, RemarkKind};

pub(crate) const FINALIZED: RemarkKind = RemarkKind { key: "graph_finalized", of: finalized };

fn finalized(profile: &Profile) -> Option<Remark> {
    let when = profile.counts.notes(FINALIZED_GRAPH_GREW).next()?.to_owned();
    let stack = profile.counts.first_at(FINALIZED_GRAPH_GREW);
    let text = match (stack.and_then(|stack| place(profile, stack)), stack) {
        (Some(place), _) => {
            format!("The graph was finalized {when}: {place} would have made it grow, and raised.")
        }
        (None, Some(_)) => {
            format!("The graph was finalized {when}, and an operation that was to be made raised.")
        }
        (None, None) => format!("The graph was finalized {when}, and nothing was to make it grow since."),
    };
    Some(Remark { when, stack, text })
}

/// `train.py:12`.
fn place(profile: &Profile, stack: StackId) -> Option<String> {
    let frame = profile.line_of(stack)?;
    let file = frame.file.as_deref()?.rsplit('/').next()?;
    Some(format!("{file}:{}", frame.line?))
}
