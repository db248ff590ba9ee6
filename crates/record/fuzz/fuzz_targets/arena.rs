//! Any tables in an arena: they are read to the end or refused, and what comes out is a process that a recording can hold.
//!
//! ```text
//!   input   a row of   place u8 │ length u16 │ bytes
//!           place 0    bytes over the header, at the u16 that they begin with: counters, and where the tables are
//!           place 1 …  bytes of a table
//!           place 255  the file ends there
//! ```
#![no_main]

use std::fs::File;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use heaplens_format::Nanos;
use heaplens_format::arena::header::{HEADER_SIZE, Header, RegionExtent};
use heaplens_format::arena::{MAGIC, Region};
use heaplens_format::recording::{Recording, decode, encode};
use heaplens_record::arena::{read_header, read_process};
use libfuzzer_sys::fuzz_target;

/// The tables that the recorder reads, from place 1 on.
const TABLES: [Region; 8] = [
    Region::Strings,
    Region::Sites,
    Region::Nodes,
    Region::Modules,
    Region::Codes,
    Region::Loops,
    Region::Marks,
    Region::Changes,
];

fuzz_target!(|bytes: &[u8]| {
    let file = file_of(&arena_of(bytes));
    let _ = read_header(&file);
    if let Ok(process) = read_process(&file, Nanos::new(0), 1e9) {
        let recording = Recording { processes: vec![process], ..Recording::default() };
        let decoded = decode(&encode(&recording)).expect("what we write is a recording");
        assert_eq!(decoded.recording, recording);
        assert_eq!(decoded.damage, []);
    }
});

fn arena_of(mut input: &[u8]) -> Vec<u8> {
    let (mut over, mut tables, mut cut) = (Vec::new(), [const { Vec::new() }; TABLES.len()], usize::MAX);
    while let [place, low, high, rest @ ..] = input {
        let length = u16::from_le_bytes([*low, *high]);
        let (bytes, rest) = rest.split_at(rest.len().min(length.into()));
        match *place {
            0 => over.push(bytes),
            u8::MAX => cut = usize::from(length) * 8,
            _ => tables[usize::from(*place - 1) % TABLES.len()].extend(bytes),
        }
        input = rest;
    }
    let mut arena = laid_out(&tables);
    over.into_iter().for_each(|bytes| write_over(&mut arena, bytes));
    arena.truncate(cut);
    arena
}

/// A sound header, and the tables behind it.
fn laid_out(tables: &[Vec<u8>]) -> Vec<u8> {
    let mut arena = vec![0; HEADER_SIZE];
    arena[..8].copy_from_slice(&MAGIC.to_le_bytes());
    for (region, table) in TABLES.iter().zip(tables) {
        let (row, start) =
            (offset_of!(Header, regions) + *region as usize * size_of::<RegionExtent>(), arena.len());
        let length = table.len() as u64;
        let extent = [start as u64, length, length, length].map(u64::to_le_bytes).concat();
        arena[row..row + extent.len()].copy_from_slice(&extent);
        arena.extend(table);
    }
    arena
}

fn write_over(arena: &mut [u8], bytes: &[u8]) {
    let Some((at, bytes)) = bytes.split_first_chunk() else { return };
    let at = usize::from(u16::from_le_bytes(*at)) % HEADER_SIZE;
    let length = bytes.len().min(HEADER_SIZE - at);
    arena[at..at + length].copy_from_slice(&bytes[..length]);
}

fn file_of(bytes: &[u8]) -> File {
    let name = "heaplens-fuzz";
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).expect("a file in memory");
    let file = File::from(file);
    file.write_all_at(bytes, 0).expect("a small file can be written");
    file
}
