//! G3: memory allocated at a line grows less in a second than before. In a program whose iterations are not known that need not be a cache that
//! fills: the program may do less in a second.

use super::site_growth;
use crate::diagnose::rule::{Ending, Outcome, Rule, Text};
use crate::trend::Shape;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain(
        "Memory allocated at this line grows at a decreasing rate; whether it stops is not known",
    ),
    verdict: Text::Plain("growth that slows down"),
    fix: Text::By(site_growth::fix),
    yields_to_holder: true,
    outcome: Outcome::Ends(Ending::After(" at a decreasing rate; whether it stops is not known")),
    of_line: Some(|trend, _| trend.shape == Shape::Slowing),
    ..Rule::new("G3", "slowing-growth", 235)
};
