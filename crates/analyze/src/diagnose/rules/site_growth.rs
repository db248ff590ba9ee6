//! G1: memory allocated at a line grows at a steady rate until the end. A more specific rule replaces it where one applies.

use crate::diagnose::rule::{Finding, Rule, Text};
use crate::profile::{Layer, Origin, StackFrame};
use crate::trend::Shape;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Memory allocated at this line keeps growing"),
    verdict: Text::By(by_owner),
    fix: Text::By(fix),
    yields_to_holder: true,
    of_line: Some(|trend, _| trend.shape == Shape::Linear),
    ..Rule::new("G1", "site-growth", 220)
};

pub(super) fn fix(finding: &Finding, line: Option<&StackFrame>) -> &'static str {
    if finding.layer == Some(Layer::MappedFiles) {
        return "unmap (close) what is no longer needed, or reuse it; shared memory exists until it is unlinked, too";
    }
    match line.is_some_and(StackFrame::is_python) {
        true => "clear or limit the container that holds it, or allocate it once, before the loop",
        false => "free it, or limit the size of the container that holds it",
    }
}

/// The verdict for a leak, by the owner of its line: the user's Python files, and native code with source, are the user's.
pub(crate) fn by_owner(_: &Finding, line: Option<&StackFrame>) -> &'static str {
    let is_own = line.is_some_and(|frame| match frame.origin {
        Origin::User | Origin::Generated => true,
        Origin::Native => frame.file.is_some(),
        Origin::Library(_) | Origin::Import | Origin::Imported(_) => false,
    });
    if is_own { "leak (your code)" } else { "leak (library)" }
}
