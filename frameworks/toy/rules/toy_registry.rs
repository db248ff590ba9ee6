//! TOY1: models are registered, and stay in the registry.

use crate::diagnose::rule::{Claims, Events, Reads, Rule, Text};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Toy models are registered and never removed"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain("register one model, before the loop"),
    layer: Some("toy-model"),
    holder: &["module toyframework", "registry (list)"],
    reads: &[Reads::Counters],
    events: Some(Events { undone_by: Some("toy models dropped"), ..Events::of("toy models registered") }),
    claims: Claims { inside: &["/toyframework/"], ..Claims::NONE },
    ..Rule::new("TOY1", "toy-registry", 1000)
};
