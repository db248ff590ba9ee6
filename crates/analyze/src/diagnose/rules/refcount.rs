//! C16: Python objects that nobody holds, though they count references: native code took a reference and did not release it. A heap
//! snapshot while they became more saw it, else the one at exit: the objects count more references than there are pointers to them. What
//! held them before is no question as it is with garbage, since a holder that is gone gives its references back. Or the one at exit saw,
//! of objects that the collector tracks, no other pointer to them than the collector's, and the collection that followed left them alone.

use heaplens_format::recording::{HeapMoment, HeapView, Holder, Stage, Step};
use rustc_hash::FxHashSet;

use super::site_growth;
use crate::diagnose::evidence::Evidence;
use crate::diagnose::known::Known;
use crate::diagnose::rule::{Finding, KeptBy, Reads, Rule, Text};
use crate::diagnose::unreachable::UnreachableParts;
use crate::profile::reclaim_test::last_mark;
use crate::profile::{extension_module, is_callback_of_ctypes, path};

pub(crate) static RULE: Rule = Rule {
    title: Text::Naming(title),
    verdict: Text::Plain("leak (library)"),
    fix: Text::Naming(fix),
    holder: &["no one: only its reference count"],
    reads: &[Reads::Holders],
    review: Some(|evidence, findings| review(evidence, findings)),
    ..Rule::new("C16", "refcount", 290)
};

/// The fraction of a line's growth that must still be live at the end, and the fraction that the collector may free.
const MOST: f64 = 0.8;
const LITTLE: f64 = 0.2;
/// The fraction of what is live then that nobody must hold.
const HALF: f64 = 0.5;

fn title(finding: &Finding) -> String {
    match &finding.kept_by {
        Some(KeptBy::Callback) => "Nobody holds it: ctypes keeps what a callback returns".to_owned(),
        _ => format!("Nobody holds it: a missing Py_DECREF in {}", extension(finding)),
    }
}

fn fix(finding: &Finding) -> String {
    match &finding.kept_by {
        Some(KeptBy::Callback) => "ctypes cannot know how long C code uses what a callback returns, and never releases it: declare \
             the result as c_void_p and return the address of a buffer that you keep and reuse, ctypes.create_string_buffer()"
            .to_owned(),
        _ => format!(
            "nobody holds it: a missing Py_DECREF in {}. Native code took a reference and never released it: release it \
             there, upgrade the extension module, or report the leak to its maintainers with this line",
            extension(finding)
        ),
    }
}

/// The module that allocated it, as far as it is known.
fn extension(finding: &Finding) -> &str {
    match &finding.kept_by {
        Some(KeptBy::Extension(module)) => module,
        _ => "an extension",
    }
}

fn review(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    let (forgotten, exit) = (forgotten(evidence.known), UnreachableParts::at_exit(evidence.known));
    for finding in findings.iter_mut().filter(|finding| *finding.rule == site_growth::RULE) {
        let held = |site: usize| evidence.known.sites[site].held.bytes.get() as f64;
        let held: Vec<(usize, f64)> = finding.sites.iter().map(|&site| (site, held(site))).collect();
        let all: f64 = held.iter().map(|(_, bytes)| bytes).sum();
        let (rise, freed) = (finding.trend.rise, evidence.reclaimed.freed(&finding.sites));
        if all < MOST * rise || freed > LITTLE * rise {
            continue;
        }
        let overcounted = |seen: &UnreachableParts| seen.overcounted(held.iter().copied());
        let while_it_grew = overcounted(evidence.unreachable);
        let is_most = |part: f64| part > HALF;
        let tracked: f64 =
            held.iter().filter(|(site, _)| forgotten.contains(site)).map(|(_, bytes)| bytes).sum();
        if while_it_grew.or_else(|| overcounted(&exit)).is_some_and(is_most) || tracked > HALF * all {
            finding.rule = &RULE;
            finding.overcounted = while_it_grew.filter(|&part| is_most(part));
            finding.kept_by = kept_by(evidence.known, finding);
        }
    }
}

/// By the site that grows most.
fn kept_by(known: Known<'_>, finding: &Finding) -> Option<KeptBy> {
    let stack = known.sites[finding.representative?].stack;
    let frames = || known.stacks.frames(stack);
    let extension = extension_module(frames()).map(|module| KeptBy::Extension(module.into()));
    extension.or_else(|| is_callback_of_ctypes(frames()).then_some(KeptBy::Callback))
}

/// Sites whose objects are only on the collector's list at exit, where it was run then, by their indices in the profile.
fn forgotten(known: Known<'_>) -> FxHashSet<usize> {
    let process = known.process;
    if last_mark(process, Stage::Collected).is_none() {
        return FxHashSet::default();
    }
    // Pointers that were only in registers of running threads were not seen.
    let is_whole = |view: &&HeapView| view.moment == HeapMoment::Exit && !view.others_ran;
    let Some(view) = process.heap.views.iter().rfind(is_whole) else { return FxHashSet::default() };
    let of_nobody = view.holders.iter().filter(|holder| is_of_nobody(view, holder));
    of_nobody.filter_map(|holder| known.site_number(holder.site)).collect()
}

/// Whether most of the inspected blocks are reachable only from the collector's list.
fn is_of_nobody(view: &HeapView, holder: &Holder) -> bool {
    let root = path(view, holder.node).first().map(|node| node.step);
    2 * holder.alike >= holder.inspected && root == Some(Step::Collector)
}
