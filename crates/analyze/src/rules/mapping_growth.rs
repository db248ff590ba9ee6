//! G6: a mapping grows that nobody was seen to make. The engine names it where the ledgers say so.

use crate::growth::{Outcome, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A mapping grows, and no hook saw who makes it"),
    verdict: Text::Plain("unexplained"),
    fix: Text::Plain(
        "it is mapped past the C library, by a raw system call or a driver: bound or release it in the library that does so",
    ),
    outcome: Outcome::Unexplained,
    ..Rule::new("G6", "mapping-growth", 240)
};
