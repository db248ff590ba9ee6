//! The live blocks of a process, out of the block table of its arena (layout: `heaplens_format::arena::block`).

use std::collections::HashMap;
use std::io;

use heaplens_format::arena::BlockEntry;
use heaplens_format::arena::block::{
    CELL_WORDS, DIRECTORY_BITS, DIRECTORY_ENTRIES, GRANULE_BITS, LEAF_BITS, LEAF_WORDS, Shape,
};
use heaplens_format::arena::header::Region;
use heaplens_format::arena::{Family, PAGE};

use super::tables::Tables;

/// The most pages that are read at a time.
const RUN: usize = 256;
/// Pages of others that may lie between two of a run.
const GAP: u32 = 8;
const CELLS_PER_PAGE: u32 = (PAGE / (CELL_WORDS * 8)) as u32;

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub size: u64,
    /// The stack that allocated it, as the arena numbers them.
    pub site: u32,
}

/// Tells of each live block of `malloc` and its kin. Objects of Python are left out: their arenas tell of them.
pub(crate) fn each(tables: &Tables<'_>, mut tell: impl FnMut(Block)) -> io::Result<()> {
    each_of_all(tables, |block, family| {
        if family.is_of_heap() {
            tell(block);
        }
    })
}

/// The same with those small objects of Python that were recorded.
pub(crate) fn each_of_all(tables: &Tables<'_>, mut tell: impl FnMut(Block, Family)) -> io::Result<()> {
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
            each_of_leaf(&bytes[start..start + PAGE], address, &mut cells, &mut tell);
        }
        rest = later;
    }
    Ok(())
}

/// How many leaves from the first on are read together.
fn run(leaves: &[(u32, u64)]) -> usize {
    let first = leaves[0].0;
    let near = |pair: &[(u32, u64)]| pair[1].0 - pair[0].0 <= GAP && ((pair[1].0 - first) as usize) < RUN;
    1 + leaves.windows(2).take_while(|pair| near(pair)).count()
}

/// The page of each leaf and the first address that it stands for.
fn leaves(tables: &Tables<'_>) -> io::Result<Vec<(u32, u64)>> {
    let pages = u32::try_from(tables.region(Region::Pages).used / PAGE as u64).unwrap_or(u32::MAX);
    let mut leaves = Vec::new();
    let top = tables.bytes(Region::Top, 0, u64::MAX)?;
    for (high, directory) in numbers(&top).filter(|&(_, page)| page != 0 && page < pages) {
        let start = u64::from(directory) * PAGE as u64;
        let entries = tables.bytes(Region::Pages, start, start + DIRECTORY_ENTRIES as u64 * 4)?;
        let there = numbers(&entries).filter(|&(_, page)| page != 0 && page < pages);
        leaves.extend(there.map(|(low, page)| (page, high << DIRECTORY_BITS | low << LEAF_BITS)));
    }
    Ok(leaves)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> {
    (0..).zip(bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)))
}

fn each_of_leaf(leaf: &[u8], address: u64, cells: &mut Cells<'_>, tell: &mut impl FnMut(Block, Family)) {
    debug_assert_eq!(leaf.len(), LEAF_WORDS * 8);
    for (granule, raw) in (0u64..).zip(leaf.as_chunks::<8>().0) {
        let entry = BlockEntry::from_raw(u64::from_le_bytes(*raw));
        let start = address + (granule << GRANULE_BITS);
        match entry.shape() {
            Shape::Empty => {}
            Shape::Block => one(entry, entry.size().get(), start, tell),
            Shape::Fine(cell) => {
                for word in cells.words(cell).into_iter().flatten() {
                    let entry = BlockEntry::from_raw(word);
                    if entry.shape() == Shape::Block {
                        one(entry, entry.size().get(), start, tell);
                    }
                }
            }
            Shape::Huge(cell) => {
                if let Some([small, size, ..]) = cells.words(cell) {
                    one(BlockEntry::from_raw(small), size, start, tell);
                }
            }
        }
    }
}

fn one(entry: BlockEntry, size: u64, granule: u64, tell: &mut impl FnMut(Block, Family)) {
    let (address, site) = (granule + entry.offset() * 8, entry.site().get());
    tell(Block { address, size, site }, entry.family());
}

/// Cells of blocks that do not fit a word, a page of them at a time.
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

    #[test]
    fn leaves_that_lie_near_are_read_together() {
        assert_eq!(run(&[(1, 0), (2, 0), (10, 0), (19, 0)]), 3);
        let many: Vec<(u32, u64)> = (1..1000).map(|page| (page, 0)).collect();
        assert_eq!(run(&many), RUN);
        assert_eq!(run(&[(7, 0)]), 1);
    }
}
