//! C2: TensorFlow sessions are created and never closed.

use super::{SESSION, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("TensorFlow sessions are created and never closed"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "close each session (`with tf.compat.v1.Session() as session:`), or create one before the loop",
    ),
    layer: Some("tensorflow-session"),
    references: &["https://github.com/tensorflow/tensorflow/issues/13202"],
    reads: &[Reads::Counters],
    events: Some(Events {
        undone_by: Some(counters::SESSION_CLOSED),
        may_be_garbage: true,
        ..Events::of(counters::SESSION_MADE)
    }),
    claims: Claims { inside: &[SESSION], ..Claims::NONE },
    ..Rule::new("C2", "session-open", 10)
};
