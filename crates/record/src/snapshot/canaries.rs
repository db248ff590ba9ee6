//! The canaries behind blocks, checked in a snapshot: bytes that no longer are what the agent wrote there. Only where the tables and the memory
//! are of one moment: a block that came or went in between would look damaged.

use heaplens_format::Addr;
use heaplens_format::arena::{Family, HeaderView};
use heaplens_format::canary::{damage_in, words_of};
use heaplens_format::recording::errors::{CanaryCheck, DamagedBlock, ErrorBlock, MOST_DAMAGED};
use heaplens_snapshot::{Block, ReadMemory};

use crate::arena::{Tables, each_of_all};

/// Bytes of memory that are read at a time.
const WINDOW: usize = 256 << 10;

/// Checks all of them, at a moment that the caller knows; `None` where blocks have no canary, or the tables cannot be read.
pub(crate) fn check(tables: &Tables<'_>, memory: &impl ReadMemory) -> Option<CanaryCheck> {
    let mut blocks = blocks_with_canary(tables)?;
    blocks.sort_unstable_by_key(|block| block.start);
    let mut found = CanaryCheck { blocks: blocks.len() as u64, ..CanaryCheck::default() };
    let mut buffer = vec![0; WINDOW];
    let mut rest = &blocks[..];
    while let Some(first) = rest.first() {
        let together = rest.iter().take_while(|block| block.end - first.start <= WINDOW as u64).count();
        // A canary is much smaller than a window.
        let (now, later) = rest.split_at(together.max(1));
        let length = now.last().map_or(0, |last| (last.end - first.start) as usize).min(WINDOW);
        let read = memory.read(first.start, &mut buffer[..length]);
        for tail in now {
            let (from, to) = ((tail.start - first.start) as usize, (tail.end - first.start) as usize);
            let copy = buffer[..read].get(from..to);
            let changed = copy.and_then(|copy| tail.changed(copy));
            found.damaged.extend(changed.filter(|_| found.damaged.len() < MOST_DAMAGED));
        }
        rest = later;
    }
    Some(found)
}

/// A block, and where the words with its canary lie.
#[derive(Clone, Copy, Debug)]
struct Tail {
    start: u64,
    end: u64,
    block: ErrorBlock,
    site: u32,
}

impl Tail {
    fn of(block: Block, family: Family) -> Option<Self> {
        let Block { address, size, site } = block;
        let (start, length) = words_of(address.get() as usize, size.get() as usize)?;
        let end = start.checked_add(length)? as u64;
        Some(Self { start: start as u64, end, block: ErrorBlock { start: address, size, family }, site })
    }

    fn changed(&self, copy: &[u8]) -> Option<DamagedBlock> {
        let (start, size) = (self.block.start.get() as usize, self.block.size.get() as usize);
        let changed = damage_in(copy, start, size)?;
        Some(DamagedBlock { block: self.block, site: self.site, changed: Addr::new(changed as u64) })
    }
}

fn blocks_with_canary(tables: &Tables<'_>) -> Option<Vec<Tail>> {
    let header = tables.header()?;
    if header.canary_families() == 0 {
        return None;
    }
    let mut blocks = Vec::new();
    let visit = |block: Block, family: Family, _| {
        blocks.extend(Tail::of(block, family).filter(|_| has_canary(&header, block, family)));
    };
    each_of_all(tables, visit).ok()?;
    Some(blocks)
}

fn has_canary(header: &HeaderView<'_>, block: Block, family: Family) -> bool {
    let is_guarded = block.address.get().wrapping_sub(header.guard_start()) < header.guard_length();
    header.canary_families() >> (family as u32) & 1 == 1 && !is_guarded
}
