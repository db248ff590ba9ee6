//! C20: gradient tapes, and the tensors they recorded, stay alive.

use super::{TENSOR, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Gradient tapes, and the tensors they recorded, stay alive"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "delete the tape (del) once you have its gradients; use persistent=True only where needed",
    ),
    layer: Some("tensorflow-tensor"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::TAPE_FREED), ..Events::of(counters::TAPE_MADE) }),
    // A tape holds the tensors that it recorded, wherever they were created.
    claims: Claims {
        inside: &["/tensorflow/python/eager/backprop.py"],
        through: &[TENSOR, OUTPUT, "GradientTape", "TapeSet"],
        ..Claims::NONE
    },
    ..Rule::new("C20", "tape", 80)
};

/// Where an operation allocates its output.
const OUTPUT: &str = "tensorflow::OpKernelContext::allocate_output";
