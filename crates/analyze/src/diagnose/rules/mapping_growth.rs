//! G6: a mapping grows whose creation was not intercepted. The engine reports it when the ledgers show it.

use crate::diagnose::rule::{Outcome, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A mapping grows, but its creation was not intercepted"),
    verdict: Text::Plain("unexplained"),
    fix: Text::Plain(
        "it is not mapped through the C library, but by a raw system call or a driver: limit or release it in the library that maps it",
    ),
    outcome: Outcome::Unexplained,
    ..Rule::new("G6", "mapping-growth", 240)
};
