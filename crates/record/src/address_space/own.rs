//! The agent's private memory in a process, out of the table that it keeps there.

use heaplens_format::arena::ledger::{OWN_RANGES, RANGE_SIZE, RANGES_OFFSET};
use heaplens_format::{Addr, Pid};

use crate::arena::word;
use crate::os::memory;

/// The ranges in the table at an address of the process.
pub(crate) fn ranges(process: Pid, table: u64) -> Vec<(u64, u64)> {
    let mut count = [0; 4];
    if memory::read(process, Addr::new(table), &mut count) != count.len() {
        return Vec::new();
    }
    let count = (u32::from_le_bytes(count) as usize).min(OWN_RANGES);
    let mut ranges = vec![0; count * RANGE_SIZE];
    let first = Addr::new(table.wrapping_add(RANGES_OFFSET as u64));
    let read = memory::read(process, first, &mut ranges);
    let range = |range: &[u8]| (word(range, 0), word(range, 0).saturating_add(word(range, 8)));
    ranges[..read].chunks_exact(RANGE_SIZE).map(range).filter(|(start, end)| start < end).collect()
}
