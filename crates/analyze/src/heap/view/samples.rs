//! Which blocks of a site are asked who holds them: a few, evenly spread over their addresses.

use std::collections::HashMap;

use heaplens_format::{Addr, Bytes};

use crate::heap::memory::{BlockId, Blocks};

/// Sites whose blocks are inspected: those with most bytes.
const SITES: usize = 256;
/// Sites of Python's small objects that are: of these few have a site at all, so that their bytes say little.
const SITES_OF_OBJECTS: usize = 64;
/// Sites of which more blocks are inspected.
const FIRST: usize = 32;
/// Blocks of each of these, and of each of the others.
const MANY: u64 = 12;
const FEW: u64 = 2;

/// The blocks that are inspected.
#[derive(Debug)]
pub(crate) struct Samples {
    sites: Vec<(u32, Vec<BlockId>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampleSum {
    bytes: Bytes,
    blocks: u64,
    is_of_objects: bool,
}

impl Samples {
    /// Of those sites that `is_wanted`; `is_object` recognises small Python objects by their addresses.
    pub(crate) fn of(
        blocks: &Blocks,
        is_wanted: impl Fn(u32) -> bool,
        is_object: impl Fn(Addr) -> bool,
    ) -> Self {
        let mut sums: HashMap<u32, SampleSum> = HashMap::new();
        for block in blocks.ids().map(|id| blocks.get(id)).filter(|block| is_wanted(block.site)) {
            let sum = sums.entry(block.site).or_insert_with(|| SampleSum {
                is_of_objects: is_object(block.address),
                ..SampleSum::default()
            });
            sum.bytes += block.size;
            sum.blocks += 1;
        }
        let mut order: Vec<(u32, SampleSum)> = sums.into_iter().collect();
        order.sort_by_key(|&(site, sum)| (std::cmp::Reverse(sum.bytes), site));
        let mut seen = [0; 2];
        order.retain(|(_, sum)| {
            seen[usize::from(sum.is_of_objects)] += 1;
            seen[usize::from(sum.is_of_objects)] <= if sum.is_of_objects { SITES_OF_OBJECTS } else { SITES }
        });
        let most =
            |position: usize, is_of_objects: bool| if position < FIRST || is_of_objects { MANY } else { FEW };
        // Every n-th block of a site is taken.
        let mut steps: HashMap<u32, (usize, u64, u64)> = HashMap::new();
        for (position, (site, sum)) in order.iter().enumerate() {
            steps.insert(*site, (position, sum.blocks.div_ceil(most(position, sum.is_of_objects)), 0));
        }
        let mut sites: Vec<(u32, Vec<BlockId>)> = order.iter().map(|&(site, _)| (site, Vec::new())).collect();
        for id in blocks.ids() {
            if let Some((position, step, seen)) = steps.get_mut(&blocks.get(id).site) {
                if seen.is_multiple_of(*step) {
                    sites[*position].1.push(id);
                }
                *seen += 1;
            }
        }
        Self { sites }
    }

    /// The sites, those with most bytes first, each with some of its blocks.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (u32, &[BlockId])> {
        self.sites.iter().map(|(site, blocks)| (*site, blocks.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_snapshot::Block;

    #[test]
    fn blocks_of_a_site_are_taken_evenly_and_the_largest_site_first() {
        let block =
            |at: u64, site| Block { address: Addr::new(0x1000 + 64 * at), size: Bytes::new(32), site };
        let blocks = (0..240).map(|at| block(at, if at % 24 == 0 { 7 } else { 9 })).collect();
        let blocks = Blocks::new(blocks).unwrap();
        let samples = Samples::of(&blocks, |_| true, |_| false);
        let sites: Vec<(u32, usize)> = samples.sites().map(|(site, blocks)| (site, blocks.len())).collect();
        assert_eq!(sites, [(9, 12), (7, 10)]);
        assert_eq!(Samples::of(&blocks, |site| site == 7, |_| false).sites().count(), 1);
    }
    #[test]
    fn small_objects_do_not_give_way_to_large_blocks() {
        let block =
            |at: u64, size, site| Block { address: Addr::new(0x1000 * at), size: Bytes::new(size), site };
        let large = (0..300).map(|at| block(1 + at, 1024, at as u32));
        let blocks = Blocks::new(large.chain([block(9000, 32, 999)]).collect()).unwrap();
        let samples = Samples::of(&blocks, |_| true, |address| address == Addr::new(9000 * 0x1000));
        assert_eq!(samples.sites().filter(|(site, _)| *site == 999).count(), 1);
        assert_eq!(samples.sites().count(), SITES + 1);
    }
}
