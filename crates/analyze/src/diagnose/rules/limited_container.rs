//! G4: memory allocated at a line grows in a container that has a limit and has not reached it: a heap snapshot while it grew read the limit. It
//! stops there, unless that is so far away that it makes no difference.

use heaplens_format::recording::{HeapMoment, HeapView, Holder, LimitedNode};
use rustc_hash::FxHashSet;

use super::site_growth;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::known::Known;
use crate::diagnose::rule::{Ending, Fill, Finding, Outcome, Reads, Rule, Text};
use crate::profile::path;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A container with a limit is filling at this line"),
    verdict: Text::Plain("bounded cache, still filling"),
    fix: Text::Plain("none needed if its limit is acceptable; a smaller maxsize or maxlen bounds its memory"),
    outcome: Outcome::Ends(Ending::After(" until a container reaches its limit")),
    reads: &[Reads::Holders],
    review: Some(|evidence, findings| review(evidence, findings)),
    ..Rule::new("G4", "limited-container", 245)
};

/// The part of the memory that must be in such a container.
const HALF: f64 = 0.5;
/// A limit of more than so many times the elements that there are is none.
const FARTHEST: u64 = 100;

fn review(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    let Some(view) = last_while_running(evidence.known) else { return };
    for finding in findings.iter_mut().filter(|finding| *finding.rule == site_growth::RULE) {
        let Some(fill) = fill(evidence, view, finding) else { continue };
        finding.rule = &RULE;
        finding.fill = Some(fill);
    }
}

fn last_while_running(known: Known<'_>) -> Option<&HeapView> {
    known.process.heap.views.iter().rfind(|view| view.moment != HeapMoment::Exit)
}

/// The container that is filling, where most of the memory is in it.
fn fill(evidence: &Evidence<'_>, view: &HeapView, finding: &Finding) -> Option<Fill> {
    let known = evidence.known;
    let is_filling = |of: &&LimitedNode| of.elements < of.limit && of.limit <= FARTHEST * of.elements;
    let container =
        view.limited.iter().filter(is_filling).max_by_key(|of| inside(known, view, of, finding))?;
    let all: u64 = finding.sites.iter().map(|&site| known.sites[site].peak.bytes.get()).sum();
    let own = inside(known, view, container, finding) as f64 * held(evidence, finding);
    (own > HALF * all as f64).then_some(Fill { elements: container.elements, limit: container.limit })
}

/// The part of the memory that something held then. Of blocks that nothing holds, a word that is left in freed memory may seem to hold one.
fn held(evidence: &Evidence<'_>, finding: &Finding) -> f64 {
    let bytes =
        || finding.sites.iter().map(|&site| (site, evidence.known.sites[site].peak.bytes.get() as f64));
    let parts = [evidence.unreachable.garbage(bytes()), evidence.unreachable.overcounted(bytes())];
    1.0 - parts.into_iter().flatten().sum::<f64>()
}

/// Bytes of the sites of a finding that are held by this container.
fn inside(known: Known<'_>, view: &HeapView, container: &LimitedNode, finding: &Finding) -> u64 {
    let is_inside = |holder: &&Holder| {
        let node = &view.nodes[container.node as usize];
        2 * holder.alike >= holder.inspected
            && path(view, holder.node).into_iter().any(|step| std::ptr::eq(step, node))
    };
    let site = |holder: &Holder| known.site_number(holder.site);
    let held: FxHashSet<usize> = view.holders.iter().filter(is_inside).filter_map(site).collect();
    let own = finding.sites.iter().filter(|site| held.contains(site));
    own.map(|&site| known.sites[site].peak.bytes.get()).sum()
}
