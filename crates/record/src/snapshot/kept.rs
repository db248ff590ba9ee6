//! Which findings of snapshots go into the recording: the latest of each kind, and why the last one failed.

use std::mem::discriminant;

use heaplens_format::recording::errors::CanaryCheck;
use heaplens_format::recording::{Heap, HeapMoment, HeapView, LeakCheck};
use heaplens_snapshot::Examined;

use super::error::SnapshotError;
use crate::arena::Findings;

/// Snapshots of growth that are kept while the program runs: the difference of two shows what grew.
const KEPT: usize = 2;
/// Snapshots on request that are kept.
const ASKED_KEPT: usize = 16;

/// Checks of the canaries that are kept.
const CHECKS_KEPT: usize = 64;

/// Keeps what was found in a program while it ran or at its exit, or why there is nothing.
pub(crate) fn keep(findings: &mut Findings, found: Result<Examined, SnapshotError>, moment: HeapMoment) {
    match found {
        Ok(Examined { leaks, view }) => {
            findings.heap.refusal = None;
            findings.leaks = leaks.or(findings.leaks.take());
            view.into_iter().for_each(|view| keep_view(&mut findings.heap, view));
        }
        Err(error) => {
            let reason = error.to_string();
            findings.heap.refusal = Some(reason.as_str().into());
            if moment == HeapMoment::Exit {
                findings.leaks = Some(LeakCheck::NotDone(reason));
            }
        }
    }
}

/// Keeps what the canaries said: the last checks, and each that found something.
pub(crate) fn keep_check(findings: &mut Findings, check: CanaryCheck) {
    let checks = &mut findings.canary_checks;
    checks.push(check);
    if checks.len() > CHECKS_KEPT
        && let Some(first) = checks.iter().position(|check| check.damaged.is_empty())
    {
        checks.remove(first);
    }
}

/// Of each kind, the latest.
fn keep_view(heap: &mut Heap, view: HeapView) {
    let most = match view.moment {
        HeapMoment::Running { .. } => KEPT,
        HeapMoment::Asked => ASKED_KEPT,
        HeapMoment::Exit => usize::MAX,
    };
    let kind = discriminant(&view.moment);
    let is_alike = |view: &HeapView| discriminant(&view.moment) == kind;
    heap.views.push(view);
    if heap.views.iter().filter(|view| is_alike(view)).count() > most
        && let Some(first) = heap.views.iter().position(is_alike)
    {
        heap.views.remove(first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examined(moment: HeapMoment) -> Result<Examined, SnapshotError> {
        let view = HeapView { moment, ..HeapView::default() };
        Ok(Examined { leaks: None, view: Some(view) })
    }

    #[test]
    fn the_last_two_of_the_loop_and_all_others_are_kept() {
        let mut findings = Findings::default();
        let asked = HeapMoment::Asked;
        let running = [10, 20, 40].map(|iterations| HeapMoment::Running { iterations });
        for moment in [running[0], asked, running[1], running[2], HeapMoment::Exit] {
            keep(&mut findings, examined(moment), moment);
        }
        let kept: Vec<HeapMoment> = findings.heap.views.iter().map(|view| view.moment).collect();
        assert_eq!(kept, [asked, running[1], running[2], HeapMoment::Exit]);
    }

    #[test]
    fn the_last_ones_that_were_asked_for_are_kept() {
        let mut findings = Findings::default();
        (0..40).for_each(|_| keep(&mut findings, examined(HeapMoment::Asked), HeapMoment::Asked));
        assert_eq!(findings.heap.views.len(), ASKED_KEPT);
    }

    #[test]
    fn the_reason_of_the_last_one_is_kept_and_forgotten_with_the_next() {
        let mut findings = Findings::default();
        let moment = HeapMoment::Running { iterations: 1 };
        keep(&mut findings, Err(SnapshotError::Restricted), moment);
        assert!(findings.heap.refusal.is_some() && findings.leaks.is_none());
        keep(&mut findings, examined(moment), moment);
        assert!(findings.heap.refusal.is_none());
        keep(&mut findings, Err(SnapshotError::Restricted), HeapMoment::Exit);
        assert!(matches!(findings.leaks, Some(LeakCheck::NotDone(_))));
    }
}
