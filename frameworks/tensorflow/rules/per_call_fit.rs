//! C7: calls of Keras trainer methods. `fit`, `predict` and `evaluate` create a pipeline each time and leave it as garbage in
//! reference cycles. Replaces C36 where most of what the collector freed was allocated by such calls.

use heaplens_format::arena::counter::COLLECTOR_HELD;

use crate::diagnose::evidence::Evidence;
use crate::diagnose::reclaim_test::Reclaimed;
use crate::diagnose::rule::{Finding, Outcome, Reads, Rule, Text};
use crate::diagnose::rules::gc_cycle::{self, HELD_BY_ITSELF, UNTIL_COLLECTED};
use crate::profile::{StackFrame, StackId, Stacks};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Each call of a Keras trainer method leaves reference cycles"),
    verdict: Text::Plain("cycle waiting for gc"),
    fix: Text::Plain(
        "call the model directly, model(x, training=False), or use predict_on_batch, train_on_batch or test_on_batch; \
         otherwise call gc.collect() periodically",
    ),
    references: &["https://github.com/tensorflow/tensorflow/issues/44711"],
    outcome: Outcome::Ends(UNTIL_COLLECTED),
    noted: Some(COLLECTOR_HELD),
    holder: &HELD_BY_ITSELF,
    reads: &[Reads::Collection],
    review: Some(|evidence, findings| review(evidence, findings)),
    ..Rule::new("C7", "per-call-fit", 260)
};

/// The fraction of the freed memory that the trainer must have allocated.
const HALF: f64 = 0.5;

/// Its methods that do so; those for one batch do not.
const METHODS: [&str; 3] = ["fit", "predict", "evaluate"];
/// Its files, of Keras 3 and of Keras 2.
const FILES: [&str; 2] = ["/trainer.py", "/training.py"];

fn review(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    let (stacks, sites) = (evidence.known.stacks, evidence.known.sites);
    let is_of_trainer = |site: usize| allocates(stacks, sites[site].stack);
    let cycles = findings.iter_mut().filter(|finding| *finding.rule == gc_cycle::RULE);
    cycles
        .filter(|finding| is_mostly(evidence.reclaimed, finding, is_of_trainer))
        .for_each(|finding| finding.rule = &RULE);
}

fn is_mostly(reclaimed: &Reclaimed, finding: &Finding, is_own: impl Fn(usize) -> bool) -> bool {
    reclaimed.freed_at(&finding.sites, is_own) > HALF * reclaimed.freed(&finding.sites)
}

/// Whether the memory of a stack was allocated by a call of the trainer, with no line of the user's in between.
fn allocates(stacks: &Stacks, stack: StackId) -> bool {
    let line = stacks.line(stack);
    let is_line = |frame: &StackFrame| line.is_some_and(|line| std::ptr::eq(line, frame));
    stacks.frames(stack).take_while(|frame| !is_line(frame)).any(is_of_trainer)
}

fn is_of_trainer(frame: &StackFrame) -> bool {
    let file = frame.file.as_deref().unwrap_or_default();
    let method = frame.function.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    METHODS.contains(&method) && file.contains("keras/") && FILES.iter().any(|end| file.ends_with(end))
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::diagnose::testing::{LENGTH, MIB, growth};

    #[test]
    fn cycles_are_the_trainers_where_most_of_them_are() {
        let collected = Reclaimed {
            by_collection: FxHashMap::from_iter([(0, 6.0 * MIB), (1, 3.0 * MIB)]),
            length: LENGTH,
            ..Reclaimed::default()
        };
        let grows = Finding { sites: vec![0, 1], ..growth(0, 9.0 * MIB) };
        assert!(is_mostly(&collected, &grows, |site| site == 0));
        assert!(!is_mostly(&collected, &grows, |site| site == 1));
    }
}
