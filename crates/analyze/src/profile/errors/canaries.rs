//! What checks of the canaries add, made while the program ran: between which moments bytes behind a block were changed, and blocks that nobody
//! freed or checked afterwards, because the program was killed.

use heaplens_format::arena::error::{CalledFunction, guard_side};
use heaplens_format::recording::Process;
use heaplens_format::recording::errors::{CanaryCheck, DamagedBlock, ErrorKind, MOST_DAMAGED, MemoryError};
use heaplens_format::{Addr, Bytes, Nanos, NodeId};

use super::analysed::ChangedBetween;

/// What is said of an error that no hook reported.
pub(super) const FOUND_BY_CHECK: &str = "Invalid write, found while the program ran";

/// Between which moments the bytes of an error were changed; `None` where no check narrows it down.
pub(super) fn changed(process: &Process, error: &MemoryError) -> Option<ChangedBetween> {
    if error.kind != ErrorKind::Overrun || guard_side(error.extra).is_some() || error.at == Nanos::default() {
        return None;
    }
    let start = error.block?.start;
    between(&process.canary_checks, start, error.at)
}

/// Errors that only checks have found: one for each site.
pub(super) fn unreported(process: &Process) -> Vec<(MemoryError, Option<ChangedBetween>)> {
    let node = |site: u32| process.sites.get(site as usize).map(|site| site.node);
    let is_reported = |site: u32| {
        let is_of = |error: &MemoryError| error.kind == ErrorKind::Overrun && error.allocated == node(site);
        process.errors.iter().any(is_of)
    };
    let mut sites: Vec<u32> = Vec::new();
    let mut found = Vec::new();
    for (check, damaged) in process
        .canary_checks
        .iter()
        .flat_map(|check| check.damaged.iter().map(move |damaged| (check, damaged)))
    {
        if is_reported(damaged.site) || sites.contains(&damaged.site) {
            continue;
        }
        sites.push(damaged.site);
        let changed = between(&process.canary_checks, damaged.block.start, check.at);
        found.push((error(process, check, damaged, node(damaged.site)), changed));
    }
    found
}

fn error(
    process: &Process,
    check: &CanaryCheck,
    damaged: &DamagedBlock,
    allocated: Option<NodeId>,
) -> MemoryError {
    MemoryError {
        kind: ErrorKind::Overrun,
        function: CalledFunction::default(),
        stack: NodeId::default(),
        allocated,
        freed: None,
        address: damaged.changed,
        access: Bytes::ZERO,
        block: Some(damaged.block),
        count: blocks_of(process, damaged.site),
        extra: 0,
        at: check.at,
    }
}

/// How many blocks of a site were found to be damaged, at one time.
fn blocks_of(process: &Process, site: u32) -> u64 {
    let of_site = |check: &CanaryCheck| check.damaged.iter().filter(|damaged| damaged.site == site).count();
    process.canary_checks.iter().map(of_site).max().unwrap_or(0) as u64
}

/// A block of the same address may have been another one at an earlier check: then this one was not there yet, and is intact even so.
fn between(checks: &[CanaryCheck], start: Addr, found: Nanos) -> Option<ChangedBetween> {
    let is_damaged = |check: &&CanaryCheck| check.damaged.iter().any(|damaged| damaged.block.start == start);
    let before = || checks.iter().filter(|check| check.at <= found);
    let changed = before().find(is_damaged).map_or(found, |check| check.at);
    let is_sure = |check: &&CanaryCheck| check.damaged.len() < MOST_DAMAGED && check.at < changed;
    let intact = before().filter(is_sure).map(|check| check.at).max();
    (intact.is_some() || changed < found).then_some(ChangedBetween { intact, changed })
}

#[cfg(test)]
mod tests {
    use heaplens_format::memory::Family;
    use heaplens_format::recording::errors::ErrorBlock;
    use heaplens_format::recording::{Amount, Site, SiteKind};

    use super::*;

    fn damaged(start: u64) -> DamagedBlock {
        let block = ErrorBlock { start: Addr::new(start), size: Bytes::new(40), family: Family::Malloc };
        DamagedBlock { block, site: 0, changed: Addr::new(start + 40) }
    }

    fn check(at: u64, starts: &[u64]) -> CanaryCheck {
        let damaged = starts.iter().map(|&start| damaged(start)).collect();
        CanaryCheck { at: Nanos::new(at), blocks: 9, damaged }
    }

    fn process(checks: Vec<CanaryCheck>, errors: Vec<MemoryError>) -> Process {
        let site = Site {
            node: NodeId::new(5),
            kind: SiteKind::Heap,
            live: Amount::default(),
            peak: Amount::default(),
            allocated: Amount::default(),
        };
        Process { canary_checks: checks, errors, sites: vec![site], ..Process::default() }
    }

    fn overrun(start: u64, at: u64) -> MemoryError {
        let none = Process::default();
        let at = CanaryCheck { at: Nanos::new(at), ..CanaryCheck::default() };
        MemoryError { count: 1, ..error(&none, &at, &damaged(start), Some(NodeId::new(5))) }
    }

    fn moments(checks: Vec<CanaryCheck>, error: MemoryError) -> Option<(Option<u64>, u64)> {
        let changed = changed(&process(checks, vec![error]), &error)?;
        Some((changed.intact.map(Nanos::get), changed.changed.get()))
    }

    #[test]
    fn checks_narrow_down_when_bytes_were_changed() {
        assert_eq!(moments(vec![], overrun(0x40, 90)), None);
        assert_eq!(moments(vec![check(95, &[])], overrun(0x40, 90)), None);
        assert_eq!(
            moments(vec![check(10, &[]), check(20, &[0x80])], overrun(0x40, 90)),
            Some((Some(20), 90))
        );
        let seen = vec![check(10, &[]), check(20, &[0x40]), check(40, &[0x40])];
        assert_eq!(moments(seen, overrun(0x40, 90)), Some((Some(10), 20)));
        assert_eq!(moments(vec![check(20, &[0x40])], overrun(0x40, 90)), Some((None, 20)));
    }

    #[test]
    fn a_check_that_found_more_than_it_keeps_proves_nothing_intact() {
        let many: Vec<u64> = (1..=MOST_DAMAGED as u64).map(|block| block * 0x1000).collect();
        assert_eq!(moments(vec![check(10, &[]), check(20, &many)], overrun(0x40, 90)), Some((Some(10), 90)));
    }

    #[test]
    fn a_block_that_nobody_freed_is_an_error_of_its_own() {
        let checks = vec![check(10, &[]), check(20, &[0x40]), check(40, &[0x40, 0x80])];
        let found = unreported(&process(checks.clone(), vec![]));
        assert_eq!(found.len(), 1);
        let (error, changed) = found[0];
        assert_eq!((error.count, error.at, error.address), (2, Nanos::new(20), Addr::new(0x68)));
        assert_eq!(changed, Some(ChangedBetween { intact: Some(Nanos::new(10)), changed: Nanos::new(20) }));
        assert_eq!(unreported(&process(checks, vec![overrun(0x40, 90)])), []);
    }
}
