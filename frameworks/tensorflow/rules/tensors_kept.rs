//! C8: tensors that a line makes are kept.

use super::{TENSOR, has_function};
use crate::growth::{Claims, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Tensors that this line makes are kept"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "keep numbers, not tensors: float(x) or x.numpy(); bound the list, or use a tf.keras.metrics metric",
    ),
    layer: Some("tensorflow-tensor"),
    // A tensor lives as long as its handle; one that is kept by no cache is kept by the program.
    shown_by: Some(|frames| has_function(frames, &[TENSOR, "Create"])),
    // What operations gave that ran on other threads is held by a tensor.
    claims: Claims { held_through: &["EagerTensor"], ..Claims::NONE },
    ..Rule::new("C8", "tensors-kept", 130)
};
