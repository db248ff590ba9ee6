//! Any payloads under sound checksums, which random bytes would never pass: the input is a row of
//! `kind u8 │ process u8 │ length u16 │ payload`, wrapped as chunks of a file.
#![no_main]

use heaplens_format::recording::{Recording, decode, encode};
use libfuzzer_sys::fuzz_target;

/// Length of the head of a file; see docs/format.md.
const FILE_HEADER: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    let decoded = decode(&file_of(bytes)).expect("the head of the file is sound");
    let again = decode(&encode(&decoded.recording)).expect("what we write is a recording");
    assert_eq!(again.recording, decoded.recording);
    assert_eq!(again.damage, []);
});

fn file_of(mut input: &[u8]) -> Vec<u8> {
    let mut file = encode(&Recording::default());
    file.truncate(FILE_HEADER);
    while let [kind, process, low, high, rest @ ..] = input {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        put_chunk(&mut file, *kind, *process, &rest[..length]);
        input = &rest[length..];
    }
    file
}

fn put_chunk(file: &mut Vec<u8>, kind: u8, process: u8, payload: &[u8]) {
    let start = file.len();
    file.extend(u32::from(kind).to_le_bytes());
    file.extend(u32::from(process).to_le_bytes());
    file.extend((payload.len() as u64).to_le_bytes());
    file.extend(crc32c(payload).to_le_bytes());
    file.extend(crc32c(&file[start..]).to_le_bytes());
    file.extend(payload);
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for bit in bytes.iter().flat_map(|byte| (0..8).map(move |at| u32::from(byte >> at & 1))) {
        crc = crc >> 1 ^ if crc & 1 ^ bit == 1 { 0x82f6_3b78 } else { 0 };
    }
    !crc
}
