//! Blocks of Python's own allocator that are in use, in all pools between two addresses.

use heaplens_cpython::ReadMemory;
use heaplens_cpython::layout::Pools;
use heaplens_cpython::pools::Pool;
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Span;

/// How much is read at a time: a whole number of pools.
const PIECE: u64 = 1 << 20;

/// Adds the blocks in use between two addresses, with the sizes of their classes.
pub(super) fn list<M: ReadMemory>(memory: &M, pools: Pools, range: Span, into: &mut Vec<(Addr, Bytes)>) {
    let mut buffer = vec![0; PIECE as usize];
    let Some(mut at) = range.start.get().checked_next_multiple_of(pools.pool) else { return };
    while let Some(left) = range.end.get().checked_sub(at).filter(|&left| left >= pools.pool) {
        let wanted = (left - left % pools.pool).min(PIECE);
        let filled = memory.read(at, &mut buffer[..wanted as usize]).min(wanted as usize);
        for (start, bytes) in
            (at..).step_by(pools.pool as usize).zip(buffer[..filled].chunks_exact(pools.pool as usize))
        {
            let pool = Pool::new(pools, start, bytes);
            if let Some((blocks, size)) = pool.as_ref().and_then(Pool::blocks) {
                into.extend(blocks.map(|block| (Addr::new(block), Bytes::new(size))));
            }
        }
        // A hole costs one pool, not the whole piece.
        at += (filled as u64 - filled as u64 % pools.pool).max(pools.pool);
    }
}
