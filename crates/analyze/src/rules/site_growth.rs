//! G1: what a line allocates grows at the same pace until the end. It says no more than that: a rule that knows why replaces it.

use crate::growth::{Finding, Rule, Shape, Text};
use crate::profile::{Origin, Profile, StackFrame};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("What this line allocates grows and does not stop"),
    verdict: Text::By(by_owner),
    fix: Text::By(|profile, finding| match finding.line(profile).is_some_and(StackFrame::is_python) {
        true => "clear or bound what it is kept in, or make it once, before the loop",
        false => "free it, or bound what it is kept in",
    }),
    of_line: Some(|trend, _| trend.shape == Shape::Linear),
    ..Rule::new("G1", "site-growth", 220)
};

/// The word for a leak, by whose line it is: a Python file of theirs who look at it, or native code with its source, is their own.
pub(crate) fn by_owner(profile: &Profile, finding: &Finding) -> &'static str {
    let is_own = finding.line(profile).is_some_and(|frame| match frame.origin {
        Origin::User | Origin::Generated => true,
        Origin::Native => frame.file.is_some(),
        Origin::Library(_) | Origin::Import => false,
    });
    if is_own { "leak (your code)" } else { "leak (library)" }
}
