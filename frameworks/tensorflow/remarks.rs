//! The outcome of finalizing a graph at the user's request (`--finalize-graph`).

use super::counters::FINALIZED_GRAPH_GREW;
use crate::Profile;
use crate::analysis::{Remark, RemarkKind};
use crate::profile::StackId;

pub(crate) const FINALIZED: RemarkKind = RemarkKind { key: "graph_finalized", of: finalized };

fn finalized(profile: &Profile) -> Option<Remark> {
    let when = profile.counts.notes(FINALIZED_GRAPH_GREW).next()?.to_owned();
    let stack = profile.counts.first_at(FINALIZED_GRAPH_GREW);
    let text = match (stack.and_then(|stack| location(profile, stack)), stack) {
        (Some(location), _) => {
            format!("The graph was finalized {when}; {location} tried to add an operation, and raised.")
        }
        (None, Some(_)) => {
            format!("The graph was finalized {when}; an attempt to add an operation raised.")
        }
        (None, None) => {
            format!("The graph was finalized {when}; nothing tried to add an operation afterwards.")
        }
    };
    Some(Remark { when, stack, text })
}

/// `train.py:12`.
fn location(profile: &Profile, stack: StackId) -> Option<String> {
    let frame = profile.line_of(stack)?;
    let file = frame.file.as_deref()?.rsplit('/').next()?;
    Some(format!("{file}:{}", frame.line?))
}
