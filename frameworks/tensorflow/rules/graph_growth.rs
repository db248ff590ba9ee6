//! C1: operations are added to a TensorFlow graph on every iteration.

use super::{SESSION, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};
use crate::profile::Counts;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A TensorFlow graph grows on every iteration"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "create the operation once, before the loop, and feed changing values through a placeholder; \
         tf.compat.v1.get_default_graph().finalize() before the loop makes this line raise",
    ),
    layer: Some("tensorflow-graph"),
    references: &["https://github.com/tensorflow/tensorflow/issues/700"],
    holder: &["tf.Graph", "its operations"],
    excludes: Some(sessions),
    reads: &[Reads::Counters],
    events: Some(Events {
        undone_by: Some(counters::GRAPH_OPERATION_FREED),
        may_be_garbage: true,
        ..Events::of(counters::GRAPH_OPERATION)
    }),
    // A session that runs an operation for the first time retains what it created to run it.
    claims: Claims { inside: &[SESSION], ..Claims::NONE },
    ..Rule::new("C1", "graph-growth", 20)
};

/// Rules out sessions by their counts.
fn sessions(counts: &Counts) -> Option<(String, String)> {
    let [made, closed] =
        [counters::SESSION_MADE, counters::SESSION_CLOSED].map(|counter| counts.total(counter));
    (made > 0).then(|| ("sessions".to_owned(), format!("{made} opened, {closed} closed")))
}
