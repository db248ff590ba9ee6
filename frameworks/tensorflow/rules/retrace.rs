//! C3: a `tf.function` is retraced repeatedly.

use super::{COMPILING, TRACING, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A tf.function is retraced repeatedly"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "pass tensors instead of changing Python values; fix the shapes with an input_signature, \
         reduce_retracing=True or padding",
    ),
    layer: Some("tensorflow-function"),
    references: &["https://www.tensorflow.org/guide/function#controlling_retracing"],
    holder: &["the tf.function", "its cache of traces", "ConcreteFunction"],
    reads: &[Reads::Counters],
    // A function is garbage only when its loop is over.
    events: Some(Events {
        undone_by: Some(counters::FUNCTION_FREED),
        ..Events::of(counters::FUNCTION_TRACED)
    }),
    claims: Claims { inside: &[TRACING, COMPILING], ..Claims::NONE },
    ..Rule::new("C3", "retrace", 90)
};
