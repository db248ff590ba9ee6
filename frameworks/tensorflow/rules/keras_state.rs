//! C5: Keras models are created and never released.

use super::{KERAS, counters};
use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Keras models are created and never released"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "release each model when you are done with it (del, keras.backend.clear_session()), or create one before the loop",
    ),
    layer: Some("keras"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::MODEL_FREED), ..Events::of(counters::MODEL_MADE) }),
    claims: Claims { inside: &[KERAS], ..Claims::NONE },
    ..Rule::new("C5", "keras-state", 50)
};
