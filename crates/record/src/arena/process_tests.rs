//! Arenas that no agent would leave.

use std::mem::offset_of;

use heaplens_format::arena::MAGIC;
use heaplens_format::arena::header::{HEADER_SIZE, Header, RegionExtent};

use super::*;

fn put(arena: &mut [u8], at: usize, words: &[u64]) {
    for (word, value) in arena[at..].chunks_exact_mut(8).zip(words) {
        word.copy_from_slice(&value.to_le_bytes());
    }
}

/// A header, and one table after it.
fn arena_with(region: Region, table: &[u8]) -> Vec<u8> {
    let mut arena = vec![0; HEADER_SIZE];
    put(&mut arena, 0, &[MAGIC]);
    let row = offset_of!(Header, regions) + region as usize * size_of::<RegionExtent>();
    let length = table.len() as u64;
    put(&mut arena, row, &[HEADER_SIZE as u64, length, length, length]);
    arena.extend(table);
    arena
}

fn read(arena: &[u8]) -> Process {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(arena, 0).unwrap();
    read_process(&file, Nanos::new(0), 1e9).unwrap()
}

#[test]
fn a_loss_counter_at_its_limit_stays_there_when_a_torn_entry_is_found() {
    let mut arena = arena_with(Region::Modules, &[0; MODULE_SIZE]);
    put(&mut arena, offset_of!(Header, losses) + 8 * Loss::TornEntry as usize, &[u64::MAX]);
    assert_eq!(read(&arena).losses, [(Loss::TornEntry, u64::MAX)]);
}
