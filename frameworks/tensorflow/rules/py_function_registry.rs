//! C12: Python functions are registered for each new pipeline, and the graph retains them.

use super::{PIPELINES, counters, iterators};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("TensorFlow retains the Python functions of each new pipeline"),
    verdict: Text::Plain("leak (framework, known)"),
    fix: Text::Plain(
        "create the pipeline once and iterate over it again, or create each one in `with tf.Graph().as_default():`",
    ),
    layer: Some("tensorflow-function"),
    references: &["https://github.com/tensorflow/tensorflow/issues/123269"],
    holder: &["the default graph (Graph)", "._py_funcs_used_in_graph (list)"],
    reads: &[Reads::Counters],
    events: Some(Events {
        undone_by: Some(counters::PY_FUNCTION_DROPPED),
        instead_of: &[&iterators::RULE],
        ..Events::of(counters::PY_FUNCTION_REGISTERED)
    }),
    claims: Claims {
        inside: &["/tensorflow/python/ops/script_ops.py", PIPELINES],
        // The data that the functions of pipelines use is held by those functions.
        held_through: &["_py_funcs_used_in_graph", "_GeneratorState", "EagerFunc"],
        ..Claims::NONE
    },
    ..Rule::new("C12", "py-function-registry", 60)
};
