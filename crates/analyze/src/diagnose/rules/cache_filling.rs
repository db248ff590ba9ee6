//! G2: memory allocated at a line grows at a decreasing rate: a cache that will stop growing.

use crate::diagnose::rule::{Ending, Outcome, Rule, Text};
use crate::trend::Shape;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A cache is filling at this line, at a decreasing rate"),
    verdict: Text::Plain("bounded cache, still filling"),
    fix: Text::Plain("none needed if its limit is acceptable; run for longer to see it stop growing"),
    yields_to_holder: true,
    outcome: Outcome::Ends(Ending::After(" at a decreasing rate")),
    of_line: Some(|trend, _| matches!(trend.shape, Shape::Filling { .. })),
    ..Rule::new("G2", "cache-filling", 230)
};
