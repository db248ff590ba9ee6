//! C13: iterators over pipelines are made and stay alive.

use super::{PIPELINES, counters};
use crate::growth::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Iterators over a tf.data pipeline are made and stay alive"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain("make one iterator and go on with it, or drop each (del) before the next is made"),
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
