//! The outcome of finalizing a graph at the user's request (`--finalize-graph`).

use super::counters::FINALIZED_GRAPH_GREW;
use crate::diagnose::remark::{Remark, RemarkKind};
use crate::profile::{Counts, StackId, Stacks};

pub(crate) const FINALIZED: RemarkKind = RemarkKind { key: "graph_finalized", of: finalized };

fn finalized(counts: &Counts, stacks: &Stacks) -> Option<Remark> {
    let when = counts.notes(FINALIZED_GRAPH_GREW).next()?.to_owned();
    let stack = counts.first_at(FINALIZED_GRAPH_GREW);
    let text = match (stack.and_then(|stack| location(stacks, stack)), stack) {
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
fn location(stacks: &Stacks, stack: StackId) -> Option<String> {
    let frame = stacks.line(stack)?;
    let file = frame.file.as_deref()?.rsplit('/').next()?;
    Some(format!("{file}:{}", frame.line?))
}
