//! C20: tapes that record operations stay alive, and with them the tensors.

use super::{TENSOR, counters};
use crate::growth::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Gradient tapes stay alive, and with them what they recorded"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "del the tape as soon as its gradients are known; make it persistent only where that is needed",
    ),
    layer: Some("tensorflow-tensor"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::TAPE_FREED), ..Events::of(counters::TAPE_MADE) }),
    // A tape holds the tensors that it recorded, wherever they were made.
    claims: Claims {
        inside: &["/tensorflow/python/eager/backprop.py"],
        through: &[TENSOR, OUTPUT, "GradientTape", "TapeSet"],
        ..Claims::NONE
    },
    ..Rule::new("C20", "tape", 80)
};

/// Where an operation gets the memory for what it gives.
const OUTPUT: &str = "tensorflow::OpKernelContext::allocate_output";
