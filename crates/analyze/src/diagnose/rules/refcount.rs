//! C16: Python objects without referrers whose reference count is above zero: native code took a reference and did not
//! release it. Only objects tracked by the collector are covered: the heap snapshot at exit found no other pointer to them,
//! and the collection that followed left them alone because of their reference counts.

use heaplens_format::recording::{HeapMoment, HeapView, Holder, Step};
use rustc_hash::FxHashSet;

use super::site_growth;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::known::Known;
use crate::diagnose::rule::{Finding, Reads, Rule, Text};
use crate::profile::{path, site_numbers};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Reference leak: objects without referrers are not freed"),
    verdict: Text::Plain("leak (library)"),
    fix: Text::Plain(
        "native code took a reference and never released it (missing Py_DECREF): upgrade the extension module that these \
         objects are passed to, or report the leak to its maintainers with this line",
    ),
    holder: &["no one: only its reference count"],
    reads: &[Reads::Collection, Reads::Holders],
    review: Some(|evidence, findings| review(evidence, findings)),
    ..Rule::new("C16", "refcount", 290)
};

/// The fraction of a line's growth that must still be live at the end, and the fraction that the collector may free.
const MOST: f64 = 0.8;
const LITTLE: f64 = 0.2;
/// The fraction of what is live then that must have no referrers.
const HALF: f64 = 0.5;

fn review(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    let known = evidence.known;
    let forgotten = forgotten(known);
    let is_forgotten = |finding: &Finding| {
        let held = |site: &usize| known.sites[*site].held.bytes.get() as f64;
        let all: f64 = finding.sites.iter().map(held).sum();
        let of_nobody: f64 = finding.sites.iter().filter(|site| forgotten.contains(site)).map(held).sum();
        let (rise, freed) = (finding.trend.rise, evidence.reclaimed.freed(&finding.sites));
        of_nobody > HALF * all && all >= MOST * rise && freed <= LITTLE * rise
    };
    let plain = findings.iter_mut().filter(|finding| *finding.rule == site_growth::RULE);
    plain.filter(|finding| is_forgotten(finding)).for_each(|finding| finding.rule = &RULE);
}

/// Sites whose objects are only on the collector's list, by their indices in the profile.
fn forgotten(known: Known<'_>) -> FxHashSet<usize> {
    let Known { process, stacks, sites, .. } = known;
    // Pointers that were only in registers of running threads were not seen.
    let is_whole = |view: &&HeapView| view.moment == HeapMoment::Exit && !view.others_ran;
    let Some(view) = process.heap.views.iter().rfind(is_whole) else { return FxHashSet::default() };
    let numbers = site_numbers(sites);
    let of_nobody = view.holders.iter().filter(|holder| is_of_nobody(view, holder));
    let site = |holder: &Holder| {
        let site = process.sites.get(holder.site as usize)?;
        numbers.get(&(stacks.of(site.node), site.kind)).copied()
    };
    of_nobody.filter_map(site).collect()
}

/// Whether most of the inspected blocks are reachable only from the collector's list.
fn is_of_nobody(view: &HeapView, holder: &Holder) -> bool {
    let root = path(view, holder.node).first().map(|node| node.step);
    2 * holder.alike >= holder.inspected && root == Some(Step::Collector)
}
