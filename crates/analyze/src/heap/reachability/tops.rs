//! Where to begin among blocks that no root leads to and that Python's collector knows.

use crate::heap::memory::BlockId;
use crate::heap::scan::Graph;

/// Those tracked blocks out of reach that no other block out of reach points to: they lead the rest, except for rings.
pub(crate) fn tops(graph: &Graph, is_reached: impl Fn(BlockId) -> bool) -> Vec<BlockId> {
    let left = || graph.blocks().ids().filter(|block| !is_reached(*block));
    let mut tracked: Vec<BlockId> = left().filter(|block| graph.is_tracked(*block)).collect();
    if tracked.is_empty() {
        return tracked;
    }
    let mut is_held = vec![0u64; graph.blocks().len().div_ceil(64)];
    for target in left().flat_map(|block| graph.targets(block)) {
        is_held[target.index() / 64] |= 1 << (target.index() % 64);
    }
    tracked.retain(|block| is_held[block.index() / 64] >> (block.index() % 64) & 1 == 0);
    tracked
}
