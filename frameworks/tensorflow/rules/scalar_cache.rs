//! C35: TensorFlow caches every distinct Python scalar that is converted to a tensor.

use super::has_function;
use crate::diagnose::rule::{Claims, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("TensorFlow caches every distinct Python scalar forever"),
    verdict: Text::Plain("unbounded cache"),
    fix: Text::Plain(
        "store the counter in a tf.Variable, or pass it as an array: numpy.asarray(i) is not cached",
    ),
    layer: Some("tensorflow-tensor"),
    holder: &["EagerContext", "its cache of scalars"],
    // A scalar that was not seen before is created and cached for reuse: it is not freed with its tensor.
    shown_by: Some(|frames| has_function(frames, &["tensorflow::EagerContext::Create", "Scalar"])),
    claims: Claims { below: Some("tensorflow::ConvertToEagerTensor"), ..Claims::NONE },
    ..Rule::new("C35", "scalar-cache", 120)
};
