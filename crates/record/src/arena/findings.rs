//! What was found out about a process while it ran: ledgers and results of snapshots, with sites as its arena numbers them, and how
//! the recording numbers these.

use std::collections::BTreeMap;

use heaplens_format::recording::errors::CanaryCheck;
use heaplens_format::recording::{Heap, HeapView, LeakCheck, Ledger, LostSite, SectionCheck};

use super::marks::Records;

/// What was found out while a process ran. Sites are numbered as in its arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// Where its resident bytes were.
    pub(crate) ledgers: Vec<Ledger>,
    /// Which blocks it could not reach at its exit; `None` without a leak check.
    pub(crate) leaks: Option<LeakCheck>,
    /// What snapshots of its heap gave.
    pub(crate) heap: Heap,
    /// The last leak check of each section, by its number.
    pub(crate) sections: BTreeMap<u32, SectionCheck>,
    /// What the canaries behind blocks said while it ran.
    pub(crate) canary_checks: Vec<CanaryCheck>,
}

impl Findings {
    /// Converts numbers of sites from those of the arena to those of the recording.
    pub(super) fn number_sites(&mut self, records: &[Records]) {
        let Self { ledgers, leaks, heap, sections, canary_checks } = self;
        let index_of = |number: u32| {
            let index = records.binary_search_by_key(&number, |record| record.numbers[0]).ok()?;
            u32::try_from(index).ok()
        };
        for mapping in ledgers.iter_mut().flat_map(|ledger| &mut ledger.mappings) {
            mapping.site = mapping.site.and_then(index_of);
        }
        if let Some(LeakCheck::Done(lost)) = leaks {
            number_lost(lost, index_of);
        }
        for check in sections.values_mut() {
            if let Some(LeakCheck::Done(lost)) = &mut check.leaks {
                number_lost(lost, index_of);
            }
            check.view.iter_mut().for_each(|view| number_view(view, index_of));
        }
        for check in canary_checks {
            check
                .damaged
                .retain_mut(|damaged| index_of(damaged.site).map(|site| damaged.site = site).is_some());
        }
        for view in &mut heap.views {
            number_view(view, index_of);
            view.reused.retain_mut(|of| match (index_of(of.site), index_of(of.container)) {
                (Some(site), Some(container)) => {
                    (of.site, of.container) = (site, container);
                    true
                }
                _ => false,
            });
        }
    }
}

fn number_lost(lost: &mut Vec<LostSite>, index_of: impl Fn(u32) -> Option<u32>) {
    lost.retain_mut(|lost| index_of(lost.site).map(|index| lost.site = index).is_some());
}

fn number_view(view: &mut HeapView, index_of: impl Fn(u32) -> Option<u32>) {
    view.holders.retain_mut(|held| index_of(held.site).map(|index| held.site = index).is_some());
    if let Some(unreachable) = &mut view.unreachable {
        unreachable.retain_mut(|of| index_of(of.site).map(|index| of.site = index).is_some());
    }
}
