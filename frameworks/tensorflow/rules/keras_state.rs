//! C5: models of Keras are made and stay alive.

use super::{KERAS, counters};
use crate::growth::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Keras models are made and stay alive"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "drop each model when its work is done (del, keras.backend.clear_session()), or make one before the loop",
    ),
    layer: Some("keras"),
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some(counters::MODEL_FREED), ..Events::of(counters::MODEL_MADE) }),
    claims: Claims { inside: &[KERAS], ..Claims::NONE },
    ..Rule::new("C5", "keras-state", 50)
};
