//! C13: tf.data iterators are created and never released.

use super::{PIPELINES, counters};
use crate::growth::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("tf.data iterators are created and never released"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain("create one iterator and reuse it, or delete each one (del) before creating the next"),
    layer: Some("tensorflow-data"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::ITERATOR_FREED), ..Events::of(counters::ITERATOR_MADE) }),
    // Each has threads, and these what is local to them.
    claims: Claims {
        inside: &[PIPELINES],
        through: &["__tls_get_addr"],
        on_threads: Some(THREAD),
        ..Claims::NONE
    },
    ..Rule::new("C13", "iterators", 70)
};

/// What each thread of TensorFlow's own runs.
const THREAD: &str = "PThread::ThreadFn";
