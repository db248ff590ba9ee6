//! Python objects that the interpreter may have reused. CPython keeps freed objects of a few types on free lists and hands them out again
//! without its allocator, so they stay with the site that first allocated them. Which line got them last is not recorded; but the
//! containers that hold them were allocated by it, or by whoever keeps its results. Nothing is named here.

use std::collections::{BTreeMap, HashMap};

use heaplens_format::recording::ReusedSite;

use super::typed_heap::NO_SITE;
use crate::heap::memory::{BlockId, Blocks};

/// Types whose objects come from free lists in CPython 3.8 to 3.14.
pub(crate) const REUSED_TYPES: [&str; 4] = ["dict", "float", "list", "tuple"];

/// Steps from an object to its container, at most: a float in the table of a dict in a tuple.
const STEPS: usize = 6;
/// Containers with a site that are needed to judge a site.
const ENOUGH: u32 = 3;

/// What is known of blocks.
pub(crate) trait Reuse {
    /// Whether a block is an object of one of [`REUSED_TYPES`], or the table of a dict, which has a free list too.
    fn is_reused(&self, block: BlockId) -> bool;
    /// The block that holds another one, on its reference path.
    fn holder(&self, block: BlockId) -> Option<BlockId>;
}

#[derive(Default)]
struct Tally {
    blocks: u64,
    reused: u64,
    containers: HashMap<u32, u32>,
}

/// Sites most of whose blocks may have been reused, with the site of the containers that hold most of them: often their own.
pub(crate) fn reused_sites(blocks: &Blocks, reuse: &impl Reuse) -> Vec<ReusedSite> {
    let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
    for block in blocks.ids().filter(|&block| blocks.get(block).site != NO_SITE) {
        let tally = tallies.entry(blocks.get(block).site).or_default();
        tally.blocks += 1;
        if reuse.is_reused(block) {
            tally.reused += 1;
            let container = container(reuse, block).map(|container| blocks.get(container).site);
            if let Some(site) = container.filter(|&site| site != NO_SITE) {
                *tally.containers.entry(site).or_default() += 1;
            }
        }
    }
    tallies.iter().filter_map(|(&site, tally)| reused_site(site, tally)).collect()
}

fn reused_site(site: u32, tally: &Tally) -> Option<ReusedSite> {
    let inspected: u32 = tally.containers.values().sum();
    let (&container, &alike) =
        tally.containers.iter().max_by_key(|&(&container, &count)| (count, std::cmp::Reverse(container)))?;
    let is_judged = 2 * tally.reused > tally.blocks && inspected >= ENOUGH;
    (is_judged && 2 * alike > inspected).then_some(ReusedSite { site, container, inspected, alike })
}

/// The nearest block on the reference path that does not come from a free list.
fn container(reuse: &impl Reuse, block: BlockId) -> Option<BlockId> {
    let holders = std::iter::successors(reuse.holder(block), |&block| reuse.holder(block));
    holders.take(STEPS).find(|&block| !reuse.is_reused(block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::{Addr, Bytes};
    use heaplens_snapshot::Block;

    /// Each block's holder, and whether it is reused.
    struct Held(Vec<(Option<usize>, bool)>);

    impl Reuse for Held {
        fn is_reused(&self, block: BlockId) -> bool {
            self.0[block.index()].1
        }

        fn holder(&self, block: BlockId) -> Option<BlockId> {
            self.0[block.index()].0.map(BlockId::new)
        }
    }

    fn found(rows: &[(u32, Option<usize>, bool)]) -> Vec<ReusedSite> {
        let block = |(at, row): (u64, &(u32, _, _))| Block {
            address: Addr::new(64 * at),
            size: Bytes::new(32),
            site: row.0,
        };
        let blocks = Blocks::new((1..).zip(rows).map(block).collect()).unwrap();
        reused_sites(&blocks, &Held(rows.iter().map(|row| (row.1, row.2)).collect()))
    }

    #[test]
    fn the_container_is_what_is_not_reused_itself() {
        // The items of a list, of site 8, hold dicts of site 7, whose tables hold floats of site 7.
        let items = (8, None, false);
        let dict = (7, Some(0), true);
        let rows = [items, dict, dict, (7, Some(1), true), (7, Some(2), true)];
        assert_eq!(found(&rows), [ReusedSite { site: 7, container: 8, inspected: 4, alike: 4 }]);
    }

    #[test]
    fn a_site_may_hold_its_own_objects() {
        let rows = [(7, None, false), (7, Some(0), true), (7, Some(0), true), (7, Some(0), true)];
        assert_eq!(found(&rows), [ReusedSite { site: 7, container: 7, inspected: 3, alike: 3 }]);
    }

    #[test]
    fn few_objects_and_unknown_containers_say_nothing() {
        let of = |site, count: usize| {
            let mut rows = vec![(site, None, false)];
            rows.extend(vec![(7, Some(0), true); count]);
            found(&rows).len()
        };
        assert_eq!([of(8, 2), of(NO_SITE, 9), of(8, 3)], [0, 0, 1]);
    }

    #[test]
    fn a_site_of_other_objects_is_left_alone() {
        let rows = [
            (8, None, false),
            (7, Some(0), true),
            (7, Some(0), true),
            (7, Some(0), true),
            (7, Some(0), false),
        ];
        assert_eq!(found(&rows).len(), 1);
        let others = [(7, Some(0), false); 4];
        assert_eq!(found(&[&rows[..], &others].concat()), []);
    }
}
