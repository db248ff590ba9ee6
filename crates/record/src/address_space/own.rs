//! The agent's private memory in a process, out of the table that it keeps there.

use heaplens_format::arena::ledger::{OWN_RANGES, RANGE_SIZE, RANGES_OFFSET};
use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use crate::arena::word;
use crate::os::memory;

/// The ranges in the table at an address of the process.
pub(crate) fn ranges(process: Pid, table: Addr) -> Vec<Span> {
    let mut count = [0; 4];
    if memory::read(process, table, &mut count) != count.len() {
        return Vec::new();
    }
    let count = (u32::from_le_bytes(count) as usize).min(OWN_RANGES);
    let mut ranges = vec![0; count * RANGE_SIZE];
    let first = table + Bytes::new(RANGES_OFFSET as u64);
    let read = memory::read(process, first, &mut ranges);
    let span = |range: &[u8]| Span::of_length(Addr::new(word(range, 0)), Bytes::new(word(range, 8)));
    ranges[..read].chunks_exact(RANGE_SIZE).map(span).filter(|span| span.start < span.end).collect()
}
