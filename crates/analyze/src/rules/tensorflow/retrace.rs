//! C3: a function of TensorFlow is traced again and again.

use heaplens_format::arena::Counter;

use super::{COMPILING, TRACING};
use crate::growth::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A tf.function is traced again and again"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "pass tensors, not Python values that change; fix shapes by an input_signature, by \
         reduce_retracing=True, or by padding",
    ),
    layer: Some("tensorflow-function"),
    references: &["https://www.tensorflow.org/guide/function#controlling_retracing"],
    holder: &["the tf.function", "its cache of traces", "ConcreteFunction"],
    reads: &[Reads::Counters],
    // A function is garbage only when its loop is over.
    events: Some(Events { undone_by: Some(Counter::FunctionFreed), ..Events::of(Counter::FunctionTraced) }),
    claims: Claims { inside: &[TRACING, COMPILING], ..Claims::NONE },
    ..Rule::new("C3", "retrace", 90)
};
