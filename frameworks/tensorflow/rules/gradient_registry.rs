//! C4: gradients are registered for each new model, and retain its traced functions.

use super::{COMPILING, KERAS, TRACING, counters, keras_state, retrace};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("TensorFlow's gradient registry retains each model's functions"),
    verdict: Text::Plain("leak (framework, known)"),
    fix: Text::Plain(
        "create and compile the model once and reset its weights, or run each trial in its own process; \
         clear_session() does not clear this registry",
    ),
    layer: Some("tensorflow-function"),
    references: &["https://github.com/tensorflow/tensorflow/issues/97697"],
    holder: &[
        "module tensorflow.python.framework.ops",
        "gradient_registry (Registry)",
        "._registry (dict)",
        "[CustomGradient-…] function",
    ],
    reads: &[Reads::Counters],
    // The gradients registered for a model retain its traced functions, and with them the model.
    events: Some(Events {
        instead_of: &[&retrace::RULE, &keras_state::RULE],
        ..Events::of(counters::GRADIENT_REGISTERED)
    }),
    claims: Claims { inside: &[TRACING, COMPILING, KERAS], ..Claims::NONE },
    ..Rule::new("C4", "gradient-registry", 40)
};
