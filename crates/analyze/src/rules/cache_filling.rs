//! G2: what a line allocates grows ever slower: a cache that is bound to stop.

use crate::growth::{Ending, Outcome, Rule, Shape, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A cache fills at this line, ever slower"),
    verdict: Text::Plain("bounded cache, still filling"),
    fix: Text::Plain("none is needed if its bound suits you; run for longer to see it stop"),
    outcome: Outcome::Ends(Ending::After(", ever slower")),
    of_line: Some(|trend, _| matches!(trend.shape, Shape::Filling { .. })),
    ..Rule::new("G2", "cache-filling", 230)
};
