//! C13: tf.data iterators are created and never released.

use super::{PIPELINES, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("tf.data iterators are created and never released"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain("create one iterator and reuse it, or delete each one (del) before creating the next"),
    layer: Some("tensorflow-data"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::ITERATOR_FREED), ..Events::of(counters::ITERATOR_MADE) }),
    // Each iterator has threads, and these have thread-local memory.
    claims: Claims {
        inside: &[PIPELINES],
        through: &["__tls_get_addr"],
        on_threads: Some(THREAD),
        ..Claims::NONE
    },
    ..Rule::new("C13", "iterators", 70)
};

/// The start function of TensorFlow's own threads.
const THREAD: &str = "PThread::ThreadFn";
