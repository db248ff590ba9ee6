//! C6: a Keras model is compiled repeatedly.

use super::{COMPILING, KERAS, TRACING, counters, gradient_registry, retrace};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A Keras model is compiled repeatedly"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain("compile the model once, before the loop; set_weights() restores its initial state"),
    layer: Some("keras"),
    references: &["https://github.com/tensorflow/tensorflow/issues/55398"],
    reads: &[Reads::Counters],
    // Each compilation creates new functions of the same model, with their own gradients.
    events: Some(Events {
        unless: Some(counters::MODEL_MADE),
        instead_of: &[&gradient_registry::RULE, &retrace::RULE],
        ..Events::of(counters::MODEL_COMPILED)
    }),
    claims: Claims { inside: &[TRACING, COMPILING, KERAS], ..Claims::NONE },
    ..Rule::new("C6", "recompile", 30)
};
