//! The live blocks of a process, out of the block table of its arena (layout: `heaplens_format::arena::block`).

use std::collections::HashMap;
use std::io;

use heaplens_format::arena::BlockEntry;
use heaplens_format::arena::block::{
    CELL_WORDS, DIRECTORY_BITS, DIRECTORY_ENTRIES, GRANULE_BITS, LEAF_BITS, LEAF_WORDS, Shape,
};
use heaplens_format::arena::header::Region;
use heaplens_format::arena::{Family, PAGE};
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Block;

use super::tables::Tables;

/// The most pages that are read at a time.
const RUN: usize = 256;
/// The most other pages between two leaves that are read together.
const GAP: u32 = 8;
const CELLS_PER_PAGE: u32 = (PAGE / (CELL_WORDS * 8)) as u32;

/// Visits each live block of `malloc` and its kin. Objects of Python are left out: they are counted by their arenas.
pub(crate) fn each(tables: &Tables<'_>, mut visit: impl FnMut(Block)) -> io::Result<()> {
    each_of_all(tables, |block, family, _| {
        if family.is_of_heap() {
            visit(block);
        }
    })
}

/// The same with those small objects of Python that were recorded; and whether the program keeps a block on purpose.
pub(crate) fn each_of_all(tables: &Tables<'_>, mut visit: impl FnMut(Block, Family, bool)) -> io::Result<()> {
    let mut leaves = leaves(tables)?;
    leaves.sort_unstable();
    let mut cells = Cells { tables, pages: HashMap::new() };
    let mut buffer = vec![0; RUN * PAGE];
    let mut rest = &leaves[..];
    while let Some(&(first, _)) = rest.first() {
        let together = run(rest);
        let (now, later) = rest.split_at(together);
        let last = now.last().map_or(first, |&(page, _)| page);
        let bytes = &mut buffer[..(last - first + 1) as usize * PAGE];
        tables.read(Region::Pages, u64::from(first) * PAGE as u64, bytes)?;
        for &(page, address) in now {
            let start = (page - first) as usize * PAGE;
            each_of_leaf(&bytes[start..start + PAGE], address, &mut cells, &mut visit);
        }
        rest = later;
    }
    Ok(())
}

/// How many leaves from the first on are read together.
fn run(leaves: &[(u32, Addr)]) -> usize {
    let first = leaves[0].0;
    let near = |pair: &[(u32, Addr)]| pair[1].0 - pair[0].0 <= GAP && ((pair[1].0 - first) as usize) < RUN;
    1 + leaves.windows(2).take_while(|pair| near(pair)).count()
}

/// The page of each leaf, with the first address that it covers.
fn leaves(tables: &Tables<'_>) -> io::Result<Vec<(u32, Addr)>> {
    let pages = u32::try_from(tables.region(Region::Pages).used / PAGE as u64).unwrap_or(u32::MAX);
    let mut leaves = Vec::new();
    let top = tables.bytes(Region::Top, 0, u64::MAX)?;
    for (high, directory) in numbers(&top).filter(|&(_, page)| page != 0 && page < pages) {
        let start = u64::from(directory) * PAGE as u64;
        let entries = tables.bytes(Region::Pages, start, start + DIRECTORY_ENTRIES as u64 * 4)?;
        let there = numbers(&entries).filter(|&(_, page)| page != 0 && page < pages);
        leaves.extend(there.map(|(low, page)| (page, Addr::new(high << DIRECTORY_BITS | low << LEAF_BITS))));
    }
    Ok(leaves)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    (0..).zip(bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)))
}

fn each_of_leaf(
    leaf: &[u8],
    address: Addr,
    cells: &mut Cells<'_>,
    visit: &mut impl FnMut(Block, Family, bool),
) {
    debug_assert_eq!(leaf.len(), LEAF_WORDS * 8);
    for (granule, raw) in (0u64..).zip(leaf.as_chunks::<8>().0) {
        let entry = BlockEntry::from_raw(u64::from_le_bytes(*raw));
        let start = address + Bytes::new(granule << GRANULE_BITS);
        match entry.shape() {
            Shape::Empty | Shape::Freed => {}
            Shape::Block => one(entry, entry.size(), start, visit),
            Shape::Fine(cell) => {
                for word in cells.words(cell).into_iter().flatten() {
                    let entry = BlockEntry::from_raw(word);
                    if entry.shape() == Shape::Block {
                        one(entry, entry.size(), start, visit);
                    }
                }
            }
            Shape::Huge(cell) => {
                if let Some([small, size, ..]) = cells.words(cell) {
                    one(BlockEntry::from_raw(small), Bytes::new(size), start, visit);
                }
            }
        }
    }
}

fn one(entry: BlockEntry, size: Bytes, granule: Addr, visit: &mut impl FnMut(Block, Family, bool)) {
    let (address, site) = (granule + Bytes::new(entry.offset() * 8), entry.site().get());
    visit(Block { address, size, site }, entry.family(), entry.is_ignored());
}

/// Cells, which describe blocks that do not fit into a word, read a page at a time.
struct Cells<'a> {
    tables: &'a Tables<'a>,
    pages: HashMap<u32, Vec<u8>>,
}

impl Cells<'_> {
    fn words(&mut self, cell: u32) -> Option<[u64; CELL_WORDS]> {
        let page = cell / CELLS_PER_PAGE;
        let bytes = self.pages.entry(page).or_insert_with(|| {
            let start = u64::from(page) * PAGE as u64;
            self.tables.bytes(Region::Pages, start, start + PAGE as u64).unwrap_or_default()
        });
        let start = (cell % CELLS_PER_PAGE) as usize * CELL_WORDS * 8;
        let cell = bytes.get(start..start + CELL_WORDS * 8)?;
        let mut words = cell.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        Some(std::array::from_fn(|_| words.next().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(page: u32) -> (u32, Addr) {
        (page, Addr::default())
    }

    #[test]
    fn leaves_that_lie_near_are_read_together() {
        assert_eq!(run(&[1, 2, 10, 19].map(leaf)), 3);
        let many: Vec<(u32, Addr)> = (1..1000).map(leaf).collect();
        assert_eq!(run(&many), RUN);
        assert_eq!(run(&[leaf(7)]), 1);
    }
}
