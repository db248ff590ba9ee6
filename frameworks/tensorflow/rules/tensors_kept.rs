//! C8: tensors created at a line are never released.

use super::{TENSOR, has_function};
use crate::diagnose::rule::{Claims, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Tensors created at this line are never released"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "store numbers, not tensors: float(x) or x.numpy(); limit the list, or use a tf.keras.metrics metric",
    ),
    yields_to_holder: true,
    layer: Some("tensorflow-tensor"),
    // A tensor lives as long as its handle; one that no cache holds is held by the program.
    shown_by: Some(|frames| has_function(frames, &[TENSOR, "Create"])),
    // Outputs of operations that ran on other threads are held by a tensor.
    claims: Claims { held_through: &["EagerTensor"], ..Claims::NONE },
    ..Rule::new("C8", "tensors-kept", 130)
};
