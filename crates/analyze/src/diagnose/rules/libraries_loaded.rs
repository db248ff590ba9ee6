//! G5: a line loads ever more libraries and unloads none: what the loader keeps for each of them grows, allocated below `dlopen`. Their own data and
//! code are pages of files, which no block is in: where the ledgers say that these are most of what resident memory grew by, they are the
//! line's.

use heaplens_format::recording::{Ledger, Line};

use super::growth_unexplained;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::known::Known;
use crate::diagnose::rule::{Finding, Rule, Text};
use crate::profile::{Frames, StackFrame};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Libraries are loaded at this line and never unloaded"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "load each library once and keep it, or unload it with dlclose (in Python: _ctypes.dlclose(library._handle)); a copy under another name is \
         another library",
    ),
    holder: &["the dynamic loader", "each library that it loaded"],
    shown_by: Some(loads_a_library),
    review: Some(review),
    ..Rule::new("G5", "libraries-loaded", 215)
};

/// The part of the growth of resident memory that pages of files must have.
const MOST: f64 = 0.5;

fn loads_a_library(mut frames: Frames<'_>) -> bool {
    let name = |frame: &StackFrame| frame.function.as_deref().is_some_and(|name| name.contains("dlopen"));
    frames.any(name)
}

/// Of several lines that load libraries it is not known which of them has how many pages.
fn review(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let position = |rule: &Rule| findings.iter().position(|finding| finding.rule == rule);
    let (Some(own), Some(rest)) = (position(&RULE), position(&growth_unexplained::RULE)) else { return };
    let is_one = findings.iter().filter(|finding| *finding.rule == RULE).count() == 1;
    if is_one && part_of_files(evidence.known).is_some_and(|part| part >= MOST) {
        let whole = findings.remove(rest).trend;
        let found = &mut findings[own - usize::from(rest < own)];
        (found.trend, found.share) = (whole, Some(1.0));
    }
}

/// Of what the program's resident memory grew by, the part that is pages of files; `None` where ledgers do not say.
fn part_of_files(known: Known<'_>) -> Option<f64> {
    let (first, last) = (known.process.ledgers.first()?, known.process.ledgers.last()?);
    let rise = |value: fn(&Ledger) -> u64| value(last) as f64 - value(first) as f64;
    let all = rise(|ledger| ledger.program().get());
    (all > 0.0).then(|| rise(|ledger| ledger.line(Line::MAPPED_FILES).get()) / all)
}
